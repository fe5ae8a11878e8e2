import { mean, standardDeviation } from '../statistics.ts'
import type { Answer } from './state-file.ts'

/** The result of one model. */
export interface ModelSummary {
  model: string
  accuracy: number
  /** The deviation between the accuracies of the repeats; null for one. */
  deviation: number | null
  averageCostNanos: bigint
  averageLatencyMs: number
  tasks: number
}

/** Summarizes the models that have answered every task. */
export function summarizeAnswers(
  answers: readonly Answer[],
  { models, tasks, repeats }: { models: readonly string[]; tasks: number; repeats: number },
): ModelSummary[] {
  const byModel = Map.groupBy(answers, ({ model }) => model)
  return models.flatMap((model) => {
    const own = byModel.get(model) ?? []
    return own.length === tasks * repeats ? summarizeModel(model, own) : []
  })
}

function summarizeModel(model: string, answers: readonly Answer[]): ModelSummary {
  const accuracies = [...Map.groupBy(answers, ({ repeat }) => repeat).values()].map((group) =>
    mean(group.map(({ isCorrect }) => (isCorrect ? 1 : 0))),
  )
  const cost = answers.reduce((sum, { costNanos }) => sum + costNanos, 0n)
  return {
    model,
    accuracy: mean(accuracies),
    deviation: standardDeviation(accuracies),
    averageCostNanos: cost / BigInt(answers.length),
    averageLatencyMs: Math.round(mean(answers.map(({ latencyMs }) => latencyMs))),
    tasks: answers.length,
  }
}
