import { createRoute } from '@tanstack/react-router'
import { rootRoute } from '../../app/root-route.tsx'

interface KeysSearch {
  offset?: number
  disabled?: boolean
}

export const keysRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/keys',
  validateSearch: ({ offset, disabled }: Record<string, unknown>): KeysSearch => ({
    ...(Number.isInteger(offset) && Number(offset) > 0 && { offset: Number(offset) }),
    ...(disabled === true && { disabled }),
  }),
}).lazy(() => import('./keys-screen.tsx').then(({ screen }) => screen))

export const keyRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/keys/$hash',
}).lazy(() => import('./key-screen.tsx').then(({ screen }) => screen))
