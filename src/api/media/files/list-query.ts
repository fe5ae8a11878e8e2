import { z } from 'zod'
import { providers } from '../../../catalog/providers/all.ts'
import type { FileListOptions } from '../../../formats/files/file-format.ts'
import { fileFormatNames } from '../../../formats/vocabulary.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import type { Workspace } from '../../../identity/workspaces.ts'
import { gatewayError, invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { queryInteger } from '../../../platform/validation/query-params.ts'
import { findFile } from '../../../storage/stored-files.ts'
import { decodeCursor } from './page.ts'
import { purposes } from './shapes.ts'
import type { VendorStore } from './vendor-store.ts'

/** Providers with their own file storage, by the neutral name of the vendor and by slug. */
const storageProviders = providers.filter(({ fileFormat }) => fileFormat !== undefined)

export const scopeQuery = z.object({
  workspace_id: z
    .uuid()
    .optional()
    .describe('Defaults to the workspace of the key; for a management key, to the default workspace.'),
  provider: z
    .enum([...fileFormatNames, ...storageProviders.map(({ slug }) => slug)])
    .optional()
    .describe('The vendor that stores the file, with your BYOK key. Omit it for the storage of this server.'),
})

export const fileId = z
  .string()
  .min(1)
  .max(256)
  .regex(/^[A-Za-z0-9_-]+$/, 'must be letters, digits, underscores and hyphens')

export const listQuery = scopeQuery.extend({
  limit: queryInteger({ min: 1, max: 1000, fallback: 100 }),
  cursor: z
    .string()
    .min(1)
    .max(1024)
    .optional()
    .describe('The cursor from the previous page. Not for files at a vendor.'),
  after: fileId.optional().describe('The id of the last file on the previous page.'),
  after_id: fileId.optional().describe('An alias of `after`.'),
  before_id: fileId.optional().describe('The id of the first file on the next page. Only for `vendor_a`.'),
  order: z
    .enum(['asc', 'desc'])
    .optional()
    .describe('By the time of the upload; asc by default in the storage of this server. Not for `vendor_a`.'),
  purpose: z
    .enum(purposes)
    .optional()
    .describe('Lists only files uploaded for this purpose. Not for `vendor_a`.'),
})

export type ListQuery = z.output<typeof listQuery>

/** Parameters that only one vendor's clients send. */
export function isVendorBQuery({ after, purpose }: ListQuery): boolean {
  return after !== undefined || purpose !== undefined
}

export function rejectUnsupported(query: ListQuery): void {
  rejectSeveralStarts(query)
  if (query.before_id !== undefined) throw invalidFieldError('before_id', 'is not supported by this storage')
}

/** The page starts after this position in upload order; null: at the start. */
export async function resolveStart(
  gateway: Gateway,
  workspace: Workspace,
  query: ListQuery,
): Promise<number | null> {
  if (query.cursor !== undefined)
    return decodeCursor(gateway, workspace, { field: 'cursor', token: query.cursor })
  const id = query.after ?? query.after_id
  if (id === undefined) return null
  const file = await findFile(gateway.db, workspace.id, id)
  if (!file)
    throw gatewayError('not_found', `${query.after ? 'after' : 'after_id'}: the file does not exist.`)
  return file.seq
}

function rejectSeveralStarts(query: ListQuery): void {
  const starts = (['cursor', 'after', 'after_id'] as const).filter((name) => query[name] !== undefined)
  const [first, second] = starts
  if (second) throw invalidFieldError(second, `must not be combined with ${first}`)
}

/** The parameters by their names in the vendor's format; one it does not have is 400. */
export function toVendorOptions({ format }: VendorStore, query: ListQuery): FileListOptions {
  rejectSeveralStarts(query)
  if (query.cursor !== undefined)
    throw invalidFieldError('cursor', 'is not supported by this vendor; use after')
  const { limit, after, after_id, before_id: before, order, purpose } = query
  const supported = format.listParameters
  if (before !== undefined && !supported.before) throw unsupportedError('before_id')
  if (order !== undefined && !supported.order) throw unsupportedError('order')
  if (purpose !== undefined && !supported.purpose) throw unsupportedError('purpose')
  return { limit, after: after ?? after_id, before, order, purpose }
}

function unsupportedError(name: string) {
  return invalidFieldError(name, 'is not supported by this vendor')
}
