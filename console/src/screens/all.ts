import { accountRoute } from './account/route.ts'
import { getStartedRoute } from './get-started/route.ts'
import { keyRoute, keysRoute } from './keys/route.ts'

/** Every screen of the console. */
export const screenRoutes = [getStartedRoute, keysRoute, keyRoute, accountRoute]
