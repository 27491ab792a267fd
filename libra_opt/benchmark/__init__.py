"""The benchmark: whole calls and their phases by family and size, and in the same run the alternatives a user would pick.

Everything is timed here and nowhere else: the layers below read no clock. Each measurement runs in a process of its own, so that its peak memory is its
own and one that fails, or is killed, is reported as such while the rest goes on.
"""
