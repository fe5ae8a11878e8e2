import { createRoute } from '@tanstack/react-router'
import { rootRoute } from '../../app/root-route.tsx'
import { type Interval, intervals } from '../../components/budget-intervals.ts'

interface BudgetsSearch {
  window?: Interval
}

export const budgetsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/budgets',
  validateSearch: ({ window }: Record<string, unknown>): BudgetsSearch => {
    const chosen = intervals.find(({ value }) => value === window)
    return chosen ? { window: chosen.value } : {}
  },
}).lazy(() => import('./budgets-screen.tsx').then(({ screen }) => screen))
