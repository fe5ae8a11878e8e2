import { type JsonObject, objectsOf, textOf } from '../../lib/loose.ts'

type Step = string | number

/** Arguments that come piece by piece, each piece with the path of the value it belongs to. */
export class PartialArgs {
  readonly args: JsonObject = {}
  /** Items that were left out on the way to a later one. */
  #gaps = 0

  add(pieces: unknown): void {
    for (const piece of objectsOf(pieces)) {
      const steps = stepsOf(textOf(piece.jsonPath) ?? '')
      if (steps.length > 0) this.#put(steps, pieceValue(piece))
    }
  }

  #fits(holder: unknown, step: Step): boolean {
    if (!Array.isArray(holder) || typeof step !== 'number') return true
    this.#gaps += Math.max(0, step - holder.length)
    return this.#gaps <= mostGaps
  }

  #put(steps: Step[], value: unknown): void {
    let holder = this.args as Record<Step, unknown>
    for (const [at, step] of steps.entries()) {
      if (!this.#fits(holder, step)) return
      if (at === steps.length - 1) {
        const before = holder[step]
        holder[step] = typeof before === 'string' && typeof value === 'string' ? before + value : value
        return
      }
      if (typeof holder[step] !== 'object' || holder[step] === null) {
        holder[step] = typeof steps[at + 1] === 'number' ? [] : {}
      }
      holder = holder[step] as Record<Step, unknown>
    }
  }
}

function pieceValue(piece: JsonObject): unknown {
  return piece.stringValue ?? piece.numberValue ?? piece.boolValue ?? null
}

/** Items come in order, give or take a few: an index far beyond the end of its list could fill the memory by itself. */
const mostGaps = 100

/** The steps of a JSON path such as `$.places[0]['first name']`; none when it is another kind of path. */
function stepsOf(path: string): Step[] {
  if (!path.startsWith('$')) return []
  const steps: Step[] = []
  const step = /\.([^.[\]]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/y
  step.lastIndex = 1
  while (step.lastIndex < path.length) {
    const found = step.exec(path)
    if (!found) return []
    const [, plain, index, single, double] = found
    const key = plain ?? (single ?? double ?? '').replace(/\\(.)/g, '$1')
    if (key === '__proto__') return []
    steps.push(index === undefined ? key : Number(index))
  }
  return steps
}
