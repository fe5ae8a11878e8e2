import { createRoute } from '@tanstack/react-router'
import { rootRoute } from '../../app/root-route.tsx'
import { readHomeSearch } from './search.ts'

export const homeRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/',
  validateSearch: readHomeSearch,
}).lazy(() => import('./home-screen.tsx').then(({ screen }) => screen))
