import { expect, test } from 'bun:test'
import { z } from 'zod'
import { readCodeBlocks } from '../../../test/support/deliver.ts'
import { recordKindNames } from '../../identity/record-kinds.ts'
import { omitUndefined } from '../../platform/json/json-values.ts'
import { kinds } from './all.ts'
import { parseDocuments } from './documents.ts'
import { loadFields } from './fields.ts'
import { buildJsonSchema } from './schema.ts'

/** Requests and what they store: nothing that is configured. */
const dataPermissions = [
  'inference:write',
  'conversations:write',
  'files:write',
  'videos:write',
  'account:write',
]

/** Operations that change something, but nothing that files could declare, and why. */
const exclusions: Record<string, string> = {
  ollamaShow: 'Only reads.',
  queryAnalytics: 'Only reads.',
  checkLedger: 'Only reads.',
  previewGuardrail: 'Only reads.',
  previewGuardrailHistory: 'Only reads.',
  previewGuardrailRequests: 'Only reads.',
  dryRunRoutingRules: 'Only reads.',
  submitGenerationFeedback: 'An opinion about one request.',
  planImport: 'Only reads.',
  createImport: 'Brings the records of another gateway once; they can be declared afterwards.',
  compareShadowExchanges: 'Requests, which are sent.',
  createComparison: 'The replies to a test of models.',
  updateComparison: 'Who may see such a test.',
  deleteComparison: 'A test of models.',
  setComparisonVote: 'An opinion about replies.',
  deleteComparisonVote: 'An opinion about replies.',
  importKeys: 'Brings secrets from elsewhere once; the keys can be declared afterwards.',
  rotateKey: 'Gives out a secret.',
  createAuthCode: 'A step of a sign-in.',
  exchangeAuthCode: 'A step of a sign-in.',
  exchangeToken: 'A step of a sign-in.',
  grantCredits: 'A payment, which must not be repeated.',
  deleteMemberSessions: 'Sessions are not configured.',
  updateEndUser: 'Blocks a person at once, in response to what they did.',
  eraseEndUserData: 'Cannot be undone or repeated.',
  testObservabilityDestination: 'A test.',
  pauseObservabilityDelivery: 'An intervention in operations; `enabled` of a Destination lasts.',
  resumeObservabilityDelivery: 'An intervention in operations.',
  redeliverObservabilityEvents: 'An intervention in operations.',
  updateNotification: 'Marks a message as read.',
  readAllNotifications: 'Marks messages as read.',
  testNotificationRule: 'A test.',
  testByokDraft: 'A test.',
  testByokKey: 'A test.',
  createScimSyncJob: 'Work that is done once.',
  createScimToken: 'Its only content is a secret.',
  deleteScimToken: 'Its only content is a secret.',
  testSsoConnection: 'A test.',
  verifySsoDomain: 'A check of DNS, which may fail until its record is published.',
  deleteSsoIdentity: 'The link of a person, which a sign-in makes.',
  testAuditDestination: 'A test.',
  sendGeminiUpload: 'A file.',
  testCatalogueProvider: 'A test.',
  inspectCatalogueProvider: 'A test.',
  refreshCatalogueProviderModels: 'Reads a list.',
  declareCatalogueProviderModels: 'Another way to make Providers and Models.',
  saveManagedRecord: 'Says which set declares a record.',
  deleteManagedRecord: 'Says that no set declares a record.',
}

interface DescribedOperation {
  operationId: string
  'x-headgate-permission'?: string
}

const openapi: { paths: Record<string, Record<string, DescribedOperation>> } =
  await Bun.file('openapi.json').json()

const changing = Object.values(openapi.paths).flatMap((methods) =>
  Object.entries(methods).flatMap(([method, one]) => (method === 'get' ? [] : [one])),
)

const declared = new Set(
  kinds.flatMap(({ create, update, remove, otherOperations = [], parts }) => [
    ...[create, update, remove, ...otherOperations],
    ...parts.flatMap(({ operations }) => operations),
  ]),
)

test('every operation that changes something belongs to a kind, or is excluded for a reason', () => {
  const open = changing.filter(
    (operation) =>
      !declared.has(operation.operationId) &&
      !(operation.operationId in exclusions) &&
      !dataPermissions.includes(operation['x-headgate-permission'] ?? ''),
  )
  expect(open.map(({ operationId }) => operationId)).toEqual([])
})

test('the kinds and the exclusions name operations that exist, and exclude nothing that a kind calls', () => {
  const known = new Set(
    Object.values(openapi.paths).flatMap((methods) =>
      Object.values(methods).map(({ operationId }) => operationId),
    ),
  )
  const named = [...declared].filter((id) => id !== null)
  expect([...named, ...Object.keys(exclusions)].filter((id) => !known.has(id))).toEqual([])
  expect(Object.keys(exclusions).filter((id) => declared.has(id))).toEqual([])
})

test('every kind of the server is one of the files', () => {
  expect(kinds.map(({ kind }) => kind).sort()).toEqual([...recordKindNames].sort())
})

test('the JSON Schema accepts the examples, and rejects what no kind has', async () => {
  const schema = z.fromJSONSchema(
    buildJsonSchema(await loadFields()) as Parameters<typeof z.fromJSONSchema>[0],
  )
  const everyKind = await Bun.file('test/fixtures/configuration/every-kind.yaml').text()
  const examples = await readCodeBlocks('docs/configuration-as-code.md', 'yaml')
  const documents = [everyKind, ...examples.filter((text) => text.includes('kind:'))].flatMap((text) =>
    parseDocuments(text, 'example.yaml'),
  )
  for (const { kind, name, workspace, spec } of documents) {
    const result = schema.safeParse(omitUndefined({ kind, name, workspace, spec }))
    expect([kind, name, result.error?.message]).toEqual([kind, name, undefined])
  }
  const limit = { kind: 'Limit', name: 'one', spec: { measure: 'requests' } }
  expect(schema.safeParse(limit).success).toBe(true)
  expect(schema.safeParse({ ...limit, kind: 'Lmit' }).success).toBe(false)
  expect(schema.safeParse({ ...limit, spec: { measur: 'requests' } }).success).toBe(false)
  expect(schema.safeParse({ ...limit, spec: { measure: 'pounds' } }).success).toBe(false)
})
