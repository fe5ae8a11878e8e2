import { z } from 'zod'
import type { ToolCallPart } from '../../formats/call/part.ts'
import { asObject, asString, type JsonObject, omitUndefined } from '../../platform/json/json-values.ts'
import { parseArguments } from './arguments.ts'
import { failedOutcome } from './failure.ts'
import { defineServerTool, type ToolInstance } from './tool.ts'
import { findDiffProblem, type PatchOperation } from './v4a-diff.ts'

const operationTypes = ['create_file', 'update_file', 'delete_file'] as const

const name = 'apply_patch'

/** Changes of files that the client applies. The gateway only checks that they can be applied to some file. */
export const applyPatch = defineServerTool({
  name,
  formats: ['responses'],
  parameters: z.strictObject({
    engine: z
      .enum(
        ['auto', 'service'],
        'must be auto or service; for the tool of the provider use {"type": "apply_patch"}',
      )
      .optional(),
  }),
  create: (): ToolInstance => createInstance(new OperationReader()),
})

function createInstance(reader: OperationReader): ToolInstance {
  return {
    functions: [
      {
        kind: 'function',
        name,
        description:
          'Create, update or delete a file. `diff` is in the V4A format: for a new file every line begins with "+"; ' +
          'for an update, sections begin with "@@" and a line of context such as a class or function, and their lines ' +
          'begin with " " (context), "-" (removed) or "+" (added). Show three lines of context around a change.',
        schema: {
          type: 'object',
          properties: {
            operation: {
              type: 'object',
              properties: {
                type: { type: 'string', enum: operationTypes },
                path: { type: 'string', description: 'Relative to the folder of the project.' },
                diff: { type: 'string', description: 'Not for delete_file.' },
              },
              required: ['type', 'path'],
            },
          },
          required: ['operation'],
        },
      },
    ],
    describe: (call) => ({
      item: omitUndefined({
        type: 'service:apply_patch',
        call_id: call.id,
        operation: asObject(parseArguments(call.arguments).operation),
      }),
    }),
    needsClient: (call) => typeof reader.read(call) !== 'string',
    toClientCall: (call) => ({
      kind: 'opaque',
      wireFormat: 'responses',
      value: buildCallItem(call, reader.read(call)),
    }),
    // Only for a call that is not sent to the client: the model gets the reason.
    run: async (call) => {
      const problem = reader.read(call)
      return failedOutcome(typeof problem === 'string' ? problem : 'The patch is for the client to apply.')
    },
    restoreItem,
  }
}

function buildCallItem({ id }: ToolCallPart, operation: PatchOperation | string): JsonObject {
  return { type: 'apply_patch_call', id: `apc_${id}`, call_id: id, status: 'completed', operation }
}

/** Reads the operation of a call, which may be megabytes, once for all that a request does with it. */
class OperationReader {
  #arguments: string | null = null
  #operation: PatchOperation | string = ''

  /** The operation, or the reason why it is invalid. */
  read(call: ToolCallPart): PatchOperation | string {
    if (call.arguments !== this.#arguments) {
      this.#operation = checkOperation(call)
      this.#arguments = call.arguments
    }
    return this.#operation
  }
}

function checkOperation(call: ToolCallPart): PatchOperation | string {
  const { type, path, diff } = asObject(parseArguments(call.arguments).operation) ?? {}
  const known = operationTypes.find((operation) => operation === type)
  const file = asString(path)?.trim()
  if (!known) return `operation.type: must be one of ${operationTypes.join(', ')}`
  if (!file || file.includes('\0')) return 'operation.path: must be the path of a file'
  if (known === 'delete_file') return { type: known, path: file }
  const text = asString(diff)
  if (text === undefined) return 'operation.diff: is required'
  const problem = findDiffProblem(known, text)
  return problem === null ? { type: known, path: file, diff: text } : `operation.diff: ${problem}`
}

/** The call and its result, as the client sends them back. */
const restoreItem: NonNullable<ToolInstance['restoreItem']> = (item, functionName) => {
  const id = asString(item.call_id)
  if (id === undefined) return null
  if (item.type === 'apply_patch_call')
    return {
      kind: 'tool-call',
      id,
      name: functionName,
      arguments: JSON.stringify({ operation: item.operation }),
    }
  if (item.type !== 'apply_patch_call_output') return null
  const isError = item.status === 'failed'
  const text =
    asString(item.output) ?? (isError ? 'The patch could not be applied.' : 'The patch was applied.')
  return { kind: 'tool-result', id, content: [{ kind: 'text', text }], ...(isError && { isError }) }
}
