import '@fontsource-variable/inter/wght.css'
import '@mantine/core/styles.css'
import '@mantine/notifications/styles.css'
import '@mantine/spotlight/styles.css'
import 'uplot/dist/uPlot.min.css'
import './theme/theme.css'
import './theme/markdown.css'
import { MantineProvider } from '@mantine/core'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { lazy, StrictMode, Suspense, useMemo } from 'react'
import { createRoot } from 'react-dom/client'
import { queryClient } from './app/query-client.ts'
import { router } from './app/router.tsx'
import { sessionOptions } from './app/session.tsx'
import { useDensity } from './theme/density.ts'
import { cssVariables, theme } from './theme/theme.ts'

// Every screen waits for it.
void queryClient.prefetchQuery(sessionOptions)

const Notices = lazy(() => import('./app/notices.tsx').then(({ Notices }) => ({ default: Notices })))

function App() {
  const [density] = useDensity()
  const resolver = useMemo(() => cssVariables(density), [density])
  return (
    <MantineProvider theme={theme} cssVariablesResolver={resolver} defaultColorScheme="auto">
      <Suspense>
        <Notices />
      </Suspense>
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  )
}

const root = document.getElementById('root')
if (root) {
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  )
}
