"""Arrays only: networks, kernels, posteriors, draws."""
