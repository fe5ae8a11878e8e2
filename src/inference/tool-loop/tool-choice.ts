import {
  type FunctionTool,
  isServerToolType,
  type ModelCall,
  type ToolChoice,
} from '../../formats/call/call.ts'
import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { asString } from '../../platform/json/json-values.ts'

/** An entry of `tools`, and the functions that replace it. */
interface ReplacedEntry {
  type: string
  functions: FunctionTool[]
}

/** A choice of a server tool, by its type or its name, becomes that of its functions. */
export function mapToolChoice(choice: ToolChoice, entries: readonly ReplacedEntry[]): ToolChoice {
  if (choice.kind === 'tool' && isServerToolType(choice.name)) return chooseType(choice.name, entries)
  if (choice.kind !== 'native') return choice
  const type = asString(choice.value.type)
  const isReplaced =
    type !== undefined && (isServerToolType(type) || entries.some((entry) => entry.type === type))
  return isReplaced ? chooseType(type, entries) : choice
}

function chooseType(type: string, entries: readonly ReplacedEntry[]): ToolChoice {
  const chosen = entries.filter((entry) => entry.type === type)
  const names = chosen.flatMap(({ functions }) => functions.map(({ name }) => name))
  const [first, ...others] = names
  if (first === undefined) throw invalidFieldError('tool_choice', `"${type}" is not one of the tools`)
  return others.length === 0 ? { kind: 'tool', name: first } : { kind: 'allowed', required: true, names }
}

/** Lets the model decide after the first turn: a choice that forces a call would force one in every turn. */
export function relaxToolChoice({ toolChoice }: ModelCall): Pick<ModelCall, 'toolChoice'> {
  if (toolChoice?.kind === 'required' || toolChoice?.kind === 'tool') return { toolChoice: { kind: 'auto' } }
  if (toolChoice?.kind === 'allowed') return { toolChoice: { ...toolChoice, required: false } }
  return toolChoice ? { toolChoice } : {}
}
