import { z } from 'zod'
import type { Model } from '../../catalog/model.ts'
import { pricePerMillion } from './filter.ts'
import type { Measured } from './measured.ts'

const orderNames = [
  'most-popular',
  'newest',
  'top-weekly',
  'pricing-low-to-high',
  'pricing-high-to-low',
  'context-high-to-low',
  'throughput-high-to-low',
  'latency-low-to-high',
  'intelligence-high-to-low',
  'coding-high-to-low',
  'agentic-high-to-low',
  'design-arena-elo-high-to-low',
] as const
type OrderName = (typeof orderNames)[number]

type Measure = (model: Model, measured: Measured) => number | undefined

/** Nobody has measured it yet: the order stays as it is. */
const notMeasured: Measure = () => undefined

const price: Measure = (model) => {
  const prompt = pricePerMillion(model, 'prompt')
  const completion = pricePerMillion(model, 'completion')
  return prompt === undefined || completion === undefined ? undefined : prompt + completion
}

/** The lowest value comes first. */
const orders: Record<OrderName, Measure> = {
  'most-popular': falling(notMeasured),
  newest: falling((model) => model.created || undefined),
  'top-weekly': falling(notMeasured),
  'pricing-low-to-high': price,
  'pricing-high-to-low': falling(price),
  'context-high-to-low': falling((model) => model.context_length ?? undefined),
  'throughput-high-to-low': falling((model, measured) => measured.throughput(model)),
  'latency-low-to-high': (model, measured) => measured.latency(model),
  'intelligence-high-to-low': falling(notMeasured),
  'coding-high-to-low': falling(notMeasured),
  'agentic-high-to-low': falling(notMeasured),
  'design-arena-elo-high-to-low': falling(notMeasured),
}

export const orderQuery = z.enum(orderNames).optional()

export function inOrder(
  models: readonly Model[],
  name: OrderName | undefined,
  measured: Measured,
): readonly Model[] {
  if (!name) return models
  const values = new Map(models.map((model) => [model, orders[name](model, measured)]))
  return models.toSorted((a, b) => compare(values.get(a), values.get(b)))
}

function falling(measure: Measure): Measure {
  return (model, measured) => {
    const value = measure(model, measured)
    return value === undefined ? undefined : -value
  }
}

/** What is not known comes last, whichever way the rest is sorted. */
function compare(a: number | undefined, b: number | undefined): number {
  if (a === b) return 0
  if (a === undefined) return 1
  return b === undefined ? -1 : a - b
}
