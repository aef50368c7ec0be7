"""Programs that stand in for services on the internet: state in memory, a journal of requests, faults to order."""
