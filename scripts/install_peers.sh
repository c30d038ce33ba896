#!/bin/sh
# Installs the peers of `bench bus` from Debian's packages: Redis and NATS. Needs root.
set -eu
apt-get update -q
DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends redis-server nats-server
