"""Sleep measured: nights of one and of many users, and a month in fast motion."""
