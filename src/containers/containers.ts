import { join } from 'node:path'
import type { Gateway } from '../gateway/gateway.ts'
import { gatewayError } from '../platform/errors/gateway-error.ts'
import { storeOf } from '../storage/file-storage.ts'
import { Bubblewrap } from './bubblewrap.ts'
import { ContainerService } from './service.ts'

/** Null while containers are off. The engine is that of the start; everything else follows a reload. */
export function createContainers(gateway: Gateway): ContainerService | null {
  const { config, db, clock, settings } = gateway
  if (settings.containers.engine === 'none') return null
  return new ContainerService({
    db,
    clock,
    engine: new Bubblewrap(settings.containers),
    folder: settings.containers.folder ?? join(config.dataDir, 'containers'),
    readSettings: () => ({
      settings: gateway.settings.containers,
      egress: { allowPrivate: gateway.settings.egress.allow_private },
    }),
    openFile: (file) => storeOf(gateway, file).read(file.id),
  })
}

/** Returns the service for an operation or a tool that needs containers; throws if they are not enabled. */
export function requireContainers({ containers }: Pick<Gateway, 'containers'>): ContainerService {
  if (containers) return containers
  throw gatewayError(
    'not_offered',
    'Containers are not enabled on this gateway. The operator can enable them with containers.engine in headgate.yaml.',
  )
}

/** Homes that have not been used for the retention period. */
export async function deleteExpiredContainers({ containers }: Gateway): Promise<void> {
  await containers?.deleteExpired()
}
