"""`bench skills`: latency of selection and feedback over the bus, many users with many skills each."""
