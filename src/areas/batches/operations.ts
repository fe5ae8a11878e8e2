import { z } from 'zod'
import { chat } from '../../dialects/chat/chat.ts'
import type { ClientSide } from '../../dialects/dialect.ts'
import { gemini } from '../../dialects/gemini/gemini.ts'
import { messages } from '../../dialects/messages/messages.ts'
import { fail } from '../../errors.ts'
import { type Method, type Operation, operation } from '../../operation.ts'
import { noBatches } from '../../pipeline/operations.ts'

const notOffered = z.looseObject({ error: z.looseObject({}) }).meta({ id: 'NotOffered' })
const batchId = z.object({ batch_id: z.string().min(1) })

interface BatchPath {
  id: string
  method: Method
  path: string
}

/** A 404, not a 501: many clients try any status from 500 on again. */
function refusal({ id, method, path }: BatchPath, { encodeError }: ClientSide, root = false): Operation {
  return operation({
    id,
    method,
    path,
    tag: 'Batches',
    summary: 'Not offered: answers 404 with the reason `not_offered`',
    description: noBatches,
    access: 'inference',
    encodeError,
    root,
    status: 404,
    ...(path.includes('{') && { params: batchId }),
    response: notOffered,
    handle: () => Promise.reject(fail('not_offered', noBatches)),
  })
}

const openAi: BatchPath[] = [
  { id: 'createBatch', method: 'POST', path: '/batches' },
  { id: 'listBatches', method: 'GET', path: '/batches' },
  { id: 'getBatch', method: 'GET', path: '/batches/{batch_id}' },
  { id: 'cancelBatch', method: 'POST', path: '/batches/{batch_id}/cancel' },
]

const anthropic: BatchPath[] = [
  { id: 'createMessageBatch', method: 'POST', path: '/messages/batches' },
  { id: 'listMessageBatches', method: 'GET', path: '/messages/batches' },
  { id: 'getMessageBatch', method: 'GET', path: '/messages/batches/{batch_id}' },
  { id: 'deleteMessageBatch', method: 'DELETE', path: '/messages/batches/{batch_id}' },
  { id: 'getMessageBatchResults', method: 'GET', path: '/messages/batches/{batch_id}/results' },
  { id: 'cancelMessageBatch', method: 'POST', path: '/messages/batches/{batch_id}/cancel' },
]

const google: BatchPath[] = [
  { id: 'listGeminiBatches', method: 'GET', path: '/v1beta/batches' },
  { id: 'getGeminiBatch', method: 'GET', path: '/v1beta/batches/{batch_id}' },
  { id: 'deleteGeminiBatch', method: 'DELETE', path: '/v1beta/batches/{batch_id}' },
]

export const batchOperations = [
  ...openAi.map((path) => refusal(path, chat.client)),
  ...anthropic.map((path) => refusal(path, messages.client)),
  ...google.map((path) => refusal(path, gemini.client, true)),
]
