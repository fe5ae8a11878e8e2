import { z } from 'zod'
import { serverToolPrefix } from '../../formats/call/call.ts'
import { serverTools } from './all.ts'
import type { ServerTool } from './tool.ts'

/** Entries of `tools` that the gateway runs, for the description of the API. */
export const serverToolSchema = z
  .union(serverTools.map(describeEntry))
  .describe('An entry of `tools` that the gateway runs. Its type names the tool.')

function describeEntry({ name, formats, parameters }: ServerTool) {
  return z
    .object({ type: z.literal(`${serverToolPrefix}${name}`), parameters: parameters.optional() })
    .describe(`In the formats ${formats.join(', ')}.`)
}
