import { z } from 'zod'
import type { Model } from '../../catalog/model.ts'
import { pricePerMillion } from './filter.ts'

type Measure = (model: Model) => number | undefined

/** Nobody has measured it yet: the order stays as it is. */
const notMeasured: Measure = () => undefined

const price: Measure = (model) => {
  const prompt = pricePerMillion(model, 'prompt')
  const completion = pricePerMillion(model, 'completion')
  return prompt === undefined || completion === undefined ? undefined : prompt + completion
}

const orders = {
  'most-popular': falling(notMeasured),
  newest: falling((model) => model.created || undefined),
  'top-weekly': falling(notMeasured),
  'pricing-low-to-high': rising(price),
  'pricing-high-to-low': falling(price),
  'context-high-to-low': falling((model) => model.context_length ?? undefined),
  'throughput-high-to-low': falling(notMeasured),
  'latency-low-to-high': rising(notMeasured),
  'intelligence-high-to-low': falling(notMeasured),
  'coding-high-to-low': falling(notMeasured),
  'agentic-high-to-low': falling(notMeasured),
  'design-arena-elo-high-to-low': falling(notMeasured),
}

type OrderName = keyof typeof orders

export const orderQuery = z.enum(Object.keys(orders) as [OrderName, ...OrderName[]]).optional()

export function inOrder(models: readonly Model[], name: OrderName | undefined): readonly Model[] {
  return name ? models.toSorted(orders[name]) : models
}

function rising(measure: Measure) {
  return (a: Model, b: Model) => compare(measure(a), measure(b))
}

function falling(measure: Measure) {
  return (a: Model, b: Model) => compare(negated(measure(a)), negated(measure(b)))
}

function negated(value: number | undefined): number | undefined {
  return value === undefined ? undefined : -value
}

/** What is not known comes last, whichever way the rest is sorted. */
function compare(a: number | undefined, b: number | undefined): number {
  if (a === b) return 0
  if (a === undefined) return 1
  return b === undefined ? -1 : a - b
}
