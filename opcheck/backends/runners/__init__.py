"""Programs that are no Python of ours: asked through files (`one_shot`) or lines (`persistent`)."""
