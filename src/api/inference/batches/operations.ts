import { z } from 'zod'
import { chat } from '../../../formats/chat/chat.ts'
import { gemini } from '../../../formats/gemini/gemini.ts'
import { messages } from '../../../formats/messages/messages.ts'
import type { ClientCodec } from '../../../formats/wire-format.ts'
import { defineOperation, type Method, type Operation } from '../../../http/operation.ts'
import { batchesUnsupported } from '../../../inference/declarations.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'

const notOffered = z.looseObject({ error: z.looseObject({}) }).meta({ id: 'NotOffered' })
const batchId = z.object({ batch_id: z.string().min(1) })

interface BatchPath {
  id: string
  method: Method
  path: string
}

/** A 404, not a 501: many clients retry every status from 500 on. */
function buildNotOfferedOperation(
  { id, method, path }: BatchPath,
  { encodeError }: ClientCodec,
  root = false,
): Operation {
  return defineOperation({
    id,
    method,
    path,
    tag: 'Batches',
    summary: 'Not supported: returns 404 with the reason `not_offered`.',
    description: batchesUnsupported,
    permission: 'inference:write',
    encodeError,
    root,
    status: 404,
    ...(path.includes('{') && { params: batchId }),
    response: notOffered,
    handle: () => Promise.reject(gatewayError('not_offered', batchesUnsupported)),
  })
}

const openAiPaths: BatchPath[] = [
  { id: 'createBatch', method: 'POST', path: '/batches' },
  { id: 'listBatches', method: 'GET', path: '/batches' },
  { id: 'getBatch', method: 'GET', path: '/batches/{batch_id}' },
  { id: 'cancelBatch', method: 'POST', path: '/batches/{batch_id}/cancel' },
]

const anthropicPaths: BatchPath[] = [
  { id: 'createMessageBatch', method: 'POST', path: '/messages/batches' },
  { id: 'listMessageBatches', method: 'GET', path: '/messages/batches' },
  { id: 'getMessageBatch', method: 'GET', path: '/messages/batches/{batch_id}' },
  { id: 'deleteMessageBatch', method: 'DELETE', path: '/messages/batches/{batch_id}' },
  { id: 'getMessageBatchResults', method: 'GET', path: '/messages/batches/{batch_id}/results' },
  { id: 'cancelMessageBatch', method: 'POST', path: '/messages/batches/{batch_id}/cancel' },
]

const googlePaths: BatchPath[] = [
  { id: 'listGeminiBatches', method: 'GET', path: '/v1beta/batches' },
  { id: 'getGeminiBatch', method: 'GET', path: '/v1beta/batches/{batch_id}' },
  { id: 'deleteGeminiBatch', method: 'DELETE', path: '/v1beta/batches/{batch_id}' },
]

export const batchOperations = [
  ...openAiPaths.map((path) => buildNotOfferedOperation(path, chat.client)),
  ...anthropicPaths.map((path) => buildNotOfferedOperation(path, messages.client)),
  ...googlePaths.map((path) => buildNotOfferedOperation(path, gemini.client, true)),
]
