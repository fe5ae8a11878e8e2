import { asObjects, asString, type JsonObject } from '../../platform/json/json-values.ts'

type PathStep = string | number

/** Collects streamed arguments: every delta has the path of its value. */
export class PartialArguments {
  readonly value: JsonObject = {}
  /** Array items that were skipped. */
  #gapCount = 0

  add(deltas: unknown): void {
    for (const delta of asObjects(deltas)) {
      const steps = parsePath(asString(delta.jsonPath) ?? '')
      if (steps.length > 0) this.#setValue(steps, decodeValue(delta))
    }
  }

  #isWithinGapLimit(container: unknown, step: PathStep): boolean {
    if (!Array.isArray(container) || typeof step !== 'number') return true
    this.#gapCount += Math.max(0, step - container.length)
    return this.#gapCount <= maxGaps
  }

  #setValue(steps: PathStep[], value: unknown): void {
    let container = this.value as Record<PathStep, unknown>
    for (const [index, step] of steps.entries()) {
      if (!this.#isWithinGapLimit(container, step)) return
      if (index === steps.length - 1) {
        const current = container[step]
        container[step] = typeof current === 'string' && typeof value === 'string' ? current + value : value
        return
      }
      if (typeof container[step] !== 'object' || container[step] === null) {
        container[step] = typeof steps[index + 1] === 'number' ? [] : {}
      }
      container = container[step] as Record<PathStep, unknown>
    }
  }
}

function decodeValue(delta: JsonObject): unknown {
  return delta.stringValue ?? delta.numberValue ?? delta.boolValue ?? null
}

/** Items arrive roughly in order; without a limit a single large index could exhaust memory. */
const maxGaps = 100

/** The steps of a JSON path such as `$.places[0]['first name']`; empty for other paths. */
function parsePath(path: string): PathStep[] {
  if (!path.startsWith('$')) return []
  const steps: PathStep[] = []
  const step = /\.([^.[\]]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/y
  step.lastIndex = 1
  while (step.lastIndex < path.length) {
    const match = step.exec(path)
    if (!match) return []
    const [, plain, index, single, double] = match
    const key = plain ?? (single ?? double ?? '').replace(/\\(.)/g, '$1')
    if (key === '__proto__') return []
    steps.push(index === undefined ? key : Number(index))
  }
  return steps
}
