import { type JsonObject, objectsOf, textOf } from '../../lib/loose.ts'

type Step = string | number

/** Arguments that come piece by piece, each piece with the path of the value it belongs to. */
export class PartialArgs {
  readonly args: JsonObject = {}

  add(pieces: unknown): void {
    for (const piece of objectsOf(pieces)) {
      const steps = stepsOf(textOf(piece.jsonPath) ?? '')
      if (steps.length > 0) this.#put(steps, pieceValue(piece))
    }
  }

  #put(steps: Step[], value: unknown): void {
    let holder = this.args as Record<Step, unknown>
    steps.forEach((step, at) => {
      if (at === steps.length - 1) {
        const before = holder[step]
        holder[step] = typeof before === 'string' && typeof value === 'string' ? before + value : value
        return
      }
      if (typeof holder[step] !== 'object' || holder[step] === null) {
        holder[step] = typeof steps[at + 1] === 'number' ? [] : {}
      }
      holder = holder[step] as Record<Step, unknown>
    })
  }
}

function pieceValue(piece: JsonObject): unknown {
  return piece.stringValue ?? piece.numberValue ?? piece.boolValue ?? null
}

/** Longer lists than this are not believed: an index alone could fill the memory. */
const mostItems = 100_000

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
    if (index !== undefined && Number(index) > mostItems) return []
    const key = plain ?? (single ?? double ?? '').replace(/\\(.)/g, '$1')
    if (key === '__proto__') return []
    steps.push(index === undefined ? key : Number(index))
  }
  return steps
}
