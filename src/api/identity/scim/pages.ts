import type { RawRoute } from '../../../http/operation.ts'
import { discoveryPages } from './discovery.ts'
import { groupPages } from './groups/handlers.ts'
import { createScimRoutes } from './protocol.ts'
import { searchPages } from './search.ts'
import { userPages } from './users/handlers.ts'

/** The SCIM 2.0 server that identity providers push to. */
export const scimServerPages: RawRoute[] = [
  ...discoveryPages,
  ...userPages,
  ...groupPages,
  ...searchPages,
  ...createScimRoutes('/*', {}),
]
