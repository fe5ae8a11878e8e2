import { describe, expect, test } from 'bun:test'
import { loadOperations } from '../src/api/all.ts'
import type { Operation } from '../src/http/operation.ts'
import { infoOf } from '../src/identity/permissions/permissions.ts'
import { bwrapPath, formatContainerSettings } from './support/containers.ts'
import { describeOnEachDatabase, type TestServer } from './support/harness.ts'
import { makeSample } from './support/samples.ts'
import { createSessionHeaders } from './support/sessions.ts'

const operations = await loadOperations()

/** Operations that change no record, and why. */
const unrecorded: Record<string, string> = {
  quoteRequest: 'computes a price',
  ollamaShow: 'reads a model',
  queryAnalytics: 'reads usage',
  previewGuardrail: 'evaluates a text that the caller sends',
  previewGuardrailRequests: 'reads records, without contents',
  planImport: 'changes nothing',
  dryRunRoutingRules: 'reads records; that it read prompts is recorded',
  compareShadowExchanges: 'sends requests, whose records are generations',
  createConversation: 'is what a client keeps of its own requests, like the responses',
  updateConversation: 'as createConversation',
  createConversationItems: 'as createConversation',
  cancelResponse: 'ends a request',
  createBatch: 'is not offered',
  cancelBatch: 'is not offered',
  createMessageBatch: 'is not offered',
  cancelMessageBatch: 'is not offered',
  deleteMessageBatch: 'is not offered',
  deleteGeminiBatch: 'is not offered',
  createAccountPasskeyOptions: 'stores nothing but a challenge',
  testAuditDestination: 'sends a test event',
  testSsoConnection: 'reads the metadata of the provider',
  startGeminiUpload: 'stores nothing: the file is recorded when its last bytes arrive',
  sendGeminiUpload:
    'records the file with the last bytes, which test/permissions/stored-records.test.ts proves',
}

const changing = operations.filter(
  ({ id, method, inference, tag }) =>
    method !== 'GET' && !inference && !(id in unrecorded) && (bwrapPath !== null || tag !== 'Containers'),
)

describe('the exceptions', () => {
  test('exist, and have a method that can change records', () => {
    const methods = new Map(operations.map(({ id, method }) => [id, method]))
    for (const id of Object.keys(unrecorded)) expect(methods.get(id) ?? 'GET').not.toBe('GET')
  })
})

describeOnEachDatabase(
  'every operation that changes a record is in the audit log',
  (server) => {
    for (const operation of changing) {
      test(`${operation.method} ${operation.path}`, async () => {
        const { own } = server()
        const { path, body } = await makeSample(server(), operation.id, own)
        const credential = await credentialFor(operation, server())
        const response = await server().call(operation.method, path, { ...credential, body })
        expect(response.status).toBe(operation.status)
        const written = await listEntries(server(), response.headers.get('x-request-id'))
        expect(written).not.toEqual([])
        for (const entry of written) {
          const actor = actorOf(operation)
          expect(entry).toMatchObject({ actor_type: actor, outcome: 'success' })
          expect(entry.actor_id === null).toBe(actor === 'anonymous')
          expect(entry.action).toMatch(/^[a-z_]+\.[a-z_]+$/)
          expect(entry.target_type).not.toBe('')
          expect(entry.target_id).not.toBe('')
        }
      })
    }
  },
  { settings: `egress: { allow_private: ["127.0.0.1:9"] }\n${formatContainerSettings()}` },
)

function actorOf({ id, permission }: Operation): string {
  if (id === 'exchangeToken') return 'workload'
  if (permission === 'public') return 'anonymous'
  return infoOf(permission).keys === 'none' ? 'member' : 'key'
}

async function credentialFor(operation: Operation, server: TestServer) {
  const { permission } = operation
  if (permission === 'public') return { key: null }
  const { keys } = infoOf(permission)
  if (keys === 'none') return { key: null, headers: await createSessionHeaders(server, server.own.owner) }
  return { key: keys === 'inference' ? server.own.inferenceKey : server.own.managementKey }
}

/** Lists the entries of a request in the first organization. */
function listEntries({ gateway, own }: TestServer, requestId: string | null) {
  return gateway.db
    .selectFrom('audit_entries')
    .selectAll()
    .where('chain_id', '=', own.organization.id)
    .where('request_id', '=', requestId)
    .execute()
}
