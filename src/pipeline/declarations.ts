import { z } from 'zod'

/** Statuses that any request to a model may end with, beside those of every operation. */
export const inferenceErrors = [402, 404, 408, 422, 429, 502, 503]

export const batchesUnsupported =
  'Batches are not offered by this gateway. Send each request by itself; streams and parallel requests are welcome.'

/** The content type of streamed replies, beside the JSON of whole ones. */
export const streamTypes = ['text/event-stream']

const flag = z
  .string()
  .optional()
  .meta({ examples: ['true', 'false'] })

/** What a request to a model may say beside its body. Nothing here is refused: what makes no sense counts as not said. */
export const inferenceHeaders = z.object({
  'x-session-id': z
    .string()
    .optional()
    .describe('Groups requests, and keeps a conversation with the provider that has its prompt cached'),
  'x-service-metadata': z
    .string()
    .optional()
    .meta({ examples: ['enabled', 'disabled'] })
    .describe('Adds `service_metadata` to the answer: where the request went, and why'),
  'x-service-cache': flag.describe('Whether the answer may come from, and goes into, the response cache'),
  'x-service-cache-ttl': z.string().optional().describe('For how many seconds it is kept: 1 to 86400'),
  'x-service-cache-clear': flag.describe('Makes the cached answer anew'),
  'x-headgate-strict': flag.describe(
    'Refuses the request if anything in it would be lost on the way to the provider',
  ),
  'x-headgate-reasoning-formats': z
    .enum(['sdk', 'neutral'])
    .optional()
    .describe(
      'Names of the formats in `reasoning_details`: `sdk` (the default) as the published SDKs know them, such as `anthropic-claude-v1`; `neutral` without vendors, such as `vendor_a-v1`. Both are understood in requests',
    ),
  'http-referer': z.string().optional().describe('The address of your application, for records'),
  'x-title': z.string().optional().describe('The name of your application, for records'),
})
