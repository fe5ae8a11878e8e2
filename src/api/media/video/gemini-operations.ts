import { z } from 'zod'
import { gemini } from '../../../formats/gemini/gemini.ts'
import { buildApiPaths } from '../../../formats/gemini/paths.ts'
import { defineOperation } from '../../../http/operation.ts'
import { requireJob } from '../../../inference/video/find-job.ts'
import { toVideoOperation } from '../../../inference/video/operation.ts'

const { encodeError } = gemini.client

const id = z.string().min(1).max(64).describe('The id of the job.')
const segment = z.string().min(1).max(256)

const common = {
  method: 'GET',
  tag: 'Gemini',
  root: true,
  summary: 'Retrieves a video job as an operation of the Gemini format.',
  permission: 'videos:read',
  encodeError,
  response: z.looseObject({ name: z.string(), done: z.boolean().optional() }).meta({ id: 'GeminiOperation' }),
} as const

const getOperation = defineOperation({
  ...common,
  ...buildApiPaths('/operations/{jobId}'),
  id: 'getGeminiOperation',
  params: z.object({ jobId: id }),
  errors: [404],
  handle: async (context) =>
    toVideoOperation(context.gateway, await requireJob(context), context.httpRequest),
})

const getModelOperation = defineOperation({
  ...common,
  ...buildApiPaths('/models/{author}/{slug}/operations/{jobId}'),
  id: 'getGeminiModelOperation',
  description: 'The model is ignored.',
  params: z.object({ author: segment, slug: segment, jobId: id }),
  errors: [404],
  handle: async (context) =>
    toVideoOperation(context.gateway, await requireJob(context), context.httpRequest),
})

export const geminiVideoOperations = [getOperation, getModelOperation]
