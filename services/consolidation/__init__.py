"""The consolidation: replays pending experiences in runs that survive a kill at any point."""
