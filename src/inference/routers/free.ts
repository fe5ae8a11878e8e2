import { maxFallbacks, type RouterCandidate, type RouterSelection } from './candidate.ts'

/** A random candidate and random fallbacks, stable ones first; null if there is none. Without `random` the order stays. */
export function selectFree(
  candidates: readonly RouterCandidate[],
  random: (() => number) | null,
): RouterSelection | null {
  const stable = candidates.filter(({ isStable }) => isStable)
  const unstable = candidates.filter(({ isStable }) => !isStable)
  const drawn = [...shuffle(stable, random), ...shuffle(unstable, random)].map(({ id }) => id)
  if (drawn.length === 0) return null
  return {
    models: drawn.slice(0, maxFallbacks + 1),
    reason: 'It was drawn from the free models that can serve the request.',
    runnersUp: [],
    data: { free_models: candidates.length },
  }
}

function shuffle(candidates: readonly RouterCandidate[], random: (() => number) | null): RouterCandidate[] {
  const rest = [...candidates]
  if (!random) return rest
  for (let last = rest.length - 1; last > 0; last--) {
    const at = Math.floor(random() * (last + 1))
    const [drawn, replaced] = [rest[at], rest[last]]
    if (drawn && replaced) [rest[at], rest[last]] = [replaced, drawn]
  }
  return rest
}
