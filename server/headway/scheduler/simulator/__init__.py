"""The scheduler in virtual time: the real core, days of made-up or recorded work, and what came of it.

`python -m headway.scheduler.simulator` drives `SchedulerCore` through days of IDE work within minutes, for machines of
several sizes, beside simpler policies and a bound that no policy can beat. Everything follows from the seed. What is
simulated is the work and the machine; what decides is the code that decides in earnest.
"""
