import { z } from 'zod'
import { permissionMissingError, scopeOf } from '../../access/authorize.ts'
import type { Caller } from '../../access/caller.ts'
import { transact } from '../../access/transact.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { defineOperation } from '../../http/operation.ts'
import type { Permission } from '../../identity/permissions/permissions.ts'
import { isPostgres } from '../../platform/db/db.ts'
import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { bodyPaceOf, readBodyText } from '../../platform/http/body-reader.ts'
import { parseJson } from '../../platform/json/json.ts'
import { JsonCounter } from '../../platform/json/json-counter.ts'
import { JsonError } from '../../platform/json/json-error.ts'
import { validateInput } from '../../platform/validation/validate-input.ts'
import { readDocument } from './documents.ts'
import type { ImportPlan } from './import-plan.ts'
import { createPeerContext } from './peer.ts'
import { detectPeer, knownTables, peerNames, peers } from './peers.ts'
import { changesCatalog, type ImportReport, runImport } from './run-import.ts'
import { SourceError } from './source.ts'

const maxFiles = 10
/** Of the whole request; larger databases are imported by the command. */
const maxBodyBytes = 8 * 1024 * 1024
const maxValues = 1000
const maxYamlLength = 256 * 1024
/** Other changes wait while an import is made. */
const maxKeys = 2000

const importBody = z
  .strictObject({
    source: z
      .enum(peerNames)
      .optional()
      .describe('The gateway that the files are of. Defaults to the one that they are recognized as.'),
    files: z
      .array(
        z.strictObject({
          name: z.string().min(1).max(200).describe('The name of the file. It may name what is imported.'),
          content: z.string().max(maxBodyBytes),
          encoding: z.enum(['text', 'base64']).default('text').describe('A SQLite file is sent as `base64`.'),
        }),
      )
      .min(1)
      .max(maxFiles),
    variables: z
      .record(z.string().max(200), z.string().max(16_384))
      .default({})
      .describe('Values of variables that the files refer to. Those of the server are not used.'),
    secret: z
      .string()
      .min(1)
      .max(1000)
      .optional()
      .describe(
        'What the other gateway encrypts its credentials with, such as LITELLM_SALT_KEY. It is not stored.',
      ),
  })
  .meta({ id: 'ImportRequest' })
type ImportBody = z.output<typeof importBody>

const item = z.strictObject({
  kind: z.string(),
  name: z.string(),
  outcome: z.enum(['created', 'updated', 'existing', 'skipped']),
  message: z.string().nullable().describe('Why it is skipped, or what is different about it.'),
})

const importReport = z
  .strictObject({
    source: z.enum(peerNames),
    plan: z.boolean().describe('Whether this is what would happen.'),
    created: z.int(),
    updated: z.int(),
    existing: z.int(),
    skipped: z.int(),
    items: z.array(item),
  })
  .meta({ id: 'ImportReport' })

const description =
  'The body has at most 8 MiB, ten files, 2,000 keys and 256 KiB of YAML in a file; `headgate import` has no such limits. The caller needs the permission of everything that the plan contains: `catalogue:write` for providers and models, `model_aliases:write`, `workspaces:write`, `members:write`, `keys:write`, `budgets:write`, `guardrails:write`, `presets:write`. Secrets are neither returned nor written to the log. With SQLite, what has been spent elsewhere since an earlier import is updated only by the command, without a running server.'

function defineImport(id: string, path: string, summary: string, isPlan: boolean) {
  return defineOperation({
    id,
    method: 'POST',
    path,
    tag: 'Admin',
    summary,
    description,
    permission: 'keys:write',
    scope: 'organization',
    rawBody: { contentType: 'application/json', schema: importBody, maxBytes: () => maxBodyBytes },
    errors: [409, 413],
    response: z.strictObject({ data: importReport }),
    handle: async (request) => {
      const { gateway, caller, scope, httpRequest } = request
      const { peer, plan } = await readPlan(gateway, await readBody(gateway, httpRequest))
      assertPermitted(caller, plan)
      const { organizationId } = caller
      const run = { gateway, organizationId, scope, plan, isPlan, canUpdateSpend: isPostgres(gateway.db) }
      const report: ImportReport = await withFieldErrors(() =>
        runImport({ ...run, transact: (work) => transact(request, work) }),
      )
      return { data: { source: peer, ...report } }
    },
  })
}

export const importOperations = [
  defineImport(
    'planImport',
    '/imports/plan',
    'Says what an import from another gateway would create and change, and changes nothing.',
    true,
  ),
  defineImport(
    'createImport',
    '/imports',
    'Imports the configuration of another gateway, in one transaction. It can be repeated.',
    false,
  ),
]

async function readBody(gateway: Gateway, request: Request): Promise<ImportBody> {
  const counter = new JsonCounter({ values: maxValues })
  const limits = { maxBytes: maxBodyBytes, pace: bodyPaceOf(gateway) }
  try {
    const value = parseJson(await readBodyText(request, limits, (text) => counter.add(text)), counter)
    return validateInput(importBody, value, 'body')
  } catch (error) {
    if (error instanceof JsonError) throw invalidFieldError('body', `is ${error.message}`)
    throw error
  }
}

async function readPlan(
  gateway: Gateway,
  { source, files, variables, secret }: ImportBody,
): Promise<{ peer: string; plan: ImportPlan }> {
  const plan = await withFieldErrors(async () => {
    const tables = Object.keys(knownTables)
    const documents = []
    for (const { name, content, encoding } of files)
      documents.push(
        await readDocument(
          { name, bytes: Buffer.from(content, toEncoding(encoding)) },
          tables,
          maxYamlLength,
        ),
      )
    const peer = peers.find((one) => one.name === source) ?? detectPeer(documents)
    return {
      peer: peer.name,
      plan: peer.translate(documents, createPeerContext(gateway, { variables, secret })),
    }
  })
  if (plan.plan.accounts.keys.length > maxKeys)
    throw invalidFieldError('files', `have more than ${maxKeys} keys: use headgate import`)
  return plan
}

function toEncoding(encoding: 'text' | 'base64'): 'utf8' | 'base64' {
  return encoding === 'text' ? 'utf8' : encoding
}

/** What cannot be read is an error of the files. */
async function withFieldErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof SourceError) throw invalidFieldError('files', `cannot be imported: ${error.message}`)
    throw error
  }
}

/** An import may do what its caller may do. */
function assertPermitted(caller: Caller, plan: ImportPlan): void {
  for (const permission of listPermissions(plan))
    if (!scopeOf(caller, permission).everywhere) throw permissionMissingError(caller, permission)
}

function listPermissions(plan: ImportPlan): Permission[] {
  const { catalog, accounts, policies } = plan
  const { workspaces, members, keys, limits, blockedEndUsers } = accounts
  const hasModels = [...workspaces, ...keys].some(({ models }) => models !== null)
  const needed: [boolean, Permission][] = [
    [changesCatalog(plan), 'catalogue:write'],
    [catalog.aliases.length > 0, 'model_aliases:write'],
    [workspaces.length > 0, 'workspaces:write'],
    [members.length > 0, 'members:write'],
    [workspaces.some(({ budget }) => budget !== null), 'budgets:write'],
    [limits.length + blockedEndUsers.length > 0, 'budgets:write'],
    [hasModels || (policies?.guardrails.length ?? 0) > 0, 'guardrails:write'],
    [(policies?.presets.length ?? 0) > 0, 'presets:write'],
  ]
  return needed.flatMap(([isNeeded, permission]) => (isNeeded ? [permission] : []))
}
