"""What mutation testing needs beside the tests themselves: the order that kills soonest, and the survivors with their arguments."""
