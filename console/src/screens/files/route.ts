import { createRoute } from '@tanstack/react-router'
import { rootRoute } from '../../app/root-route.tsx'
import { readText } from '../../app/search-params.ts'
import { isPurpose, type Purpose } from './purposes.ts'

export const filesRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/files',
  validateSearch: ({ purpose }: Record<string, unknown>): { purpose?: Purpose } =>
    isPurpose(purpose) ? { purpose } : {},
}).lazy(() => import('./files-screen.tsx').then(({ screen }) => screen))

export const mediaRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/files/media',
}).lazy(() => import('./media-screen.tsx').then(({ screen }) => screen))

export const containersRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/files/containers',
  validateSearch: (search: Record<string, unknown>): { id?: string } => {
    const id = readText(search.id)
    return id ? { id } : {}
  },
}).lazy(() => import('./containers-screen.tsx').then(({ screen }) => screen))
