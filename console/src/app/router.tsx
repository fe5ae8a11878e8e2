import { createRouter } from '@tanstack/react-router'
import { screenRoutes } from '../screens/all.ts'
import { movedRoutes } from './moved-screens.ts'
import { rootRoute } from './root-route.tsx'
import { restoreFragment } from './sign-in.ts'

restoreFragment()

export const router = createRouter({
  routeTree: rootRoute.addChildren([...screenRoutes, ...movedRoutes]),
  basepath: new URL(document.baseURI).pathname,
  defaultPreload: 'intent',
  // Otherwise a screen gets values of the address that its route has rejected.
  search: { strict: true },
  scrollRestoration: true,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
