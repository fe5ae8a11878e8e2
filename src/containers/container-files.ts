import type { FileHandle } from 'node:fs/promises'
import { z } from 'zod'
import type { Gateway } from '../gateway/gateway.ts'
import { gatewayError } from '../platform/errors/gateway-error.ts'
import { requireContainers } from './containers.ts'
import { formatContainerId, parseContainerFileId, toContainerFileId } from './ids.ts'
import type { Container } from './store.ts'

const pathId = (max: number) =>
  z
    .string()
    .max(max)
    .regex(/^[A-Za-z0-9_-]+$/, 'must be letters, digits, underscores and hyphens')

export const containerParams = z.object({ container_id: pathId(40) })
/** An id contains a path, which Linux limits to 4096 bytes. */
export const containerFileId = pathId(6000)
export const containerFileParams = containerParams.extend({ file_id: containerFileId })

export const containerQuery = z.object({
  workspace_id: z
    .uuid()
    .optional()
    .describe('Defaults to the workspace of the key; for a management key, to the default workspace.'),
})

/** A file of a container, opened. The caller closes it. */
export interface OpenedContainerFile {
  container: Container
  path: string
  handle: FileHandle
  size: number
  changedAt: number
}

export async function openContainerFile(
  gateway: Gateway,
  workspaceId: string,
  { container_id, file_id }: z.output<typeof containerFileParams>,
): Promise<OpenedContainerFile> {
  const containers = requireContainers(gateway)
  const container = await containers.find(workspaceId, container_id)
  const path = parseContainerFileId(file_id)
  const handle = path === null ? null : await containers.openFile(container, path)
  if (path === null || handle === null) throw gatewayError('not_found', 'The container has no such file.')
  const { size, ctimeMs } = await handle.stat()
  return { container, path, handle, size, changedAt: ctimeMs }
}

/** Builds the record of a file for clients. */
export function toContainerFile(
  { id, nonce }: Pick<Container, 'id' | 'nonce'>,
  { path, bytes, changedAt }: { path: string; bytes: number; changedAt: number },
) {
  return {
    id: toContainerFileId(path),
    object: 'container.file' as const,
    container_id: formatContainerId(id, nonce),
    bytes,
    created_at: Math.floor(changedAt / 1000),
    path,
    source: 'assistant' as const,
  }
}
