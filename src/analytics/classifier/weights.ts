import type { Signal, SignalStrengths } from './signals.ts'
import { type TaskTag, taskTags } from './tasks.ts'
import weights from './weights.json'

interface WeightedSignal {
  signals: readonly Signal[]
  weight: number
}

/** The signals of each task and their weights. `a&b` counts where both are present. */
const signalsByTask = taskTags.map((tag) => ({ tag, signals: parseWeights(weights[tag]) }))

function parseWeights(ofTask: Readonly<Record<string, number>>): WeightedSignal[] {
  return Object.entries(ofTask).map(([names, weight]) => ({ signals: names.split('&') as Signal[], weight }))
}

/** The task with the highest score, and the score of the next. */
export function findBestTask(strengths: SignalStrengths): { tag: TaskTag; score: number; next: number } {
  const best = { tag: taskTags[0] as TaskTag, score: 0, next: 0 }
  for (const { tag, signals } of signalsByTask) {
    const score = computeScore(signals, strengths)
    if (score > best.score) Object.assign(best, { tag, score, next: best.score })
    else if (score > best.next) best.next = score
  }
  return best
}

/** Computes a weighted score. Where a weight has two signals, the weaker counts. */
function computeScore(weighted: readonly WeightedSignal[], strengths: SignalStrengths): number {
  let score = 0
  for (const { signals, weight } of weighted) {
    let weakest = Number.POSITIVE_INFINITY
    for (const signal of signals) weakest = Math.min(weakest, strengths.get(signal) ?? 0)
    score += weight * weakest
  }
  return score
}
