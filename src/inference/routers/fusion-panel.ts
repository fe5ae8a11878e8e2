import type { FusionPreset, FusionPresetName } from './fusion-presets.ts'

/** A model that may be a member of a panel. */
export interface PanelCandidate {
  id: string
  author: string
  /** USD for a million prompt and a million completion tokens. */
  price: number
  /** A benchmark from 0 to 1; null: not measured. */
  score: number | null
  /** The estimate of `estimateStanding`, from 0 to 1. */
  standing: number
}

const panelSize = 3

/** The share of the candidates, cheapest first, among which a preset chooses. */
const priceShares: Record<FusionPresetName, number> = {
  'general-high': 1,
  'general-budget': 1 / 2,
  'general-fast': 1 / 4,
}

/** Models without benchmark results count as less than average. */
const unknownScore = 0.3

/** The panel of a preset, of different authors where there are enough; null if there is no candidate. */
export function selectPanel(
  candidates: readonly PanelCandidate[],
  preset: FusionPresetName,
): FusionPreset | null {
  const ranked = rank(candidates, preset)
  const [first] = ranked
  if (!first) return null
  const diverse = ranked.filter(
    ({ author }, index) => ranked.findIndex((other) => other.author === author) === index,
  )
  const others = ranked.filter((candidate) => !diverse.includes(candidate))
  const members = [...diverse, ...others].slice(0, panelSize)
  return { analysis_models: members.map(({ id }) => id), model: first.id }
}

function rank(candidates: readonly PanelCandidate[], preset: FusionPresetName): PanelCandidate[] {
  const byId = candidates.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const byQuality = byId.toSorted(
    (a, b) => scoreOf(b) - scoreOf(a) || b.standing - a.standing || comparePrices(a, b),
  )
  const share = priceShares[preset]
  const cheap = new Set(
    byId.toSorted(comparePrices).slice(0, Math.max(panelSize, Math.ceil(byId.length * share))),
  )
  return byQuality.filter((candidate) => cheap.has(candidate))
}

function scoreOf({ score }: PanelCandidate): number {
  return score ?? unknownScore
}

/** Unknown prices are infinite, and equal to each other. */
function comparePrices(a: PanelCandidate, b: PanelCandidate): number {
  return a.price === b.price ? 0 : a.price - b.price
}
