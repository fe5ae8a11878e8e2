import { Button, Stack, Title } from '@mantine/core'
import { createLazyRoute } from '@tanstack/react-router'
import { memo } from 'react'
import { callOf } from '../../api/call.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { Page } from '../../components/page.tsx'
import { SavedViews } from '../../components/saved-views.tsx'
import { annotationsQuery, useMayReadChanges } from './annotations.ts'
import { Controls } from './controls.tsx'
import { type Figures, useDashboard, useFigures } from './dashboard-data.ts'
import { DashboardView } from './dashboard-view.tsx'
import { type DimensionName, dimensionOf, nounOf } from './dimensions.ts'
import { ExportMenu } from './export-menu.tsx'
import { GroupTable } from './group-table.tsx'
import { metricOf } from './metrics.ts'
import { figuresQuery, groupSeriesQuery, groupsQuery, totalSeriesQuery } from './queries.ts'
import { filtersOf, useView, type View } from './view.ts'

/** Each query that arrives renders the screen again, but these depend on the view alone. */
const [StableControls, StableGroupTable] = [memo(Controls), memo(GroupTable)]

export const screen = createLazyRoute('/activity')({ component: ActivityScreen })

function ActivityScreen() {
  const view = useView()
  const figures = useFigures(view)
  const mayReadChanges = useMayReadChanges()
  return (
    <Page
      title="Activity"
      docs="analytics"
      scope="listed"
      description="Spending, usage and reliability of every request that reached a provider."
      calls={[...callsOf(view), ...(mayReadChanges ? [callOf(annotationsQuery(view))] : [])]}
      actions={
        <>
          <SavedViews screen="activity" />
          <Button size="xs" variant="default" onClick={view.refresh}>
            Refresh
          </Button>
          <ExportMenu view={view} />
        </>
      }
    >
      <StableControls view={view} />
      <Content view={view} figures={figures} />
    </Page>
  )
}

function Content({ view, figures }: { view: View; figures: Figures }) {
  if (figures.error !== null) return <ErrorNotice error={figures.error} onRetry={view.refresh} />
  if (figures.isEmpty && !view.previous) return <NoRequests view={view} />
  return <Details view={view} figures={figures} />
}

function Details({ view, figures }: { view: View; figures: Figures }) {
  const { group } = view
  return (
    <>
      <DashboardView view={view} figures={figures} {...useDashboard(view)} />
      {group !== 'none' && <Groups view={view} group={group} />}
    </>
  )
}

function Groups({ view, group }: { view: View; group: DimensionName }) {
  return (
    <Stack gap="xs">
      <Title order={2} size="h4">
        {metricOf(view.ranking).label} by {nounOf(dimensionOf(group))}
      </Title>
      <StableGroupTable view={view} dimension={group} />
    </Stack>
  )
}

function NoRequests({ view }: { view: View }) {
  const isFiltered = Object.keys(filtersOf(view)).length > 0
  return (
    <EmptyState title="No requests in this period">
      {isFiltered
        ? 'Remove a filter, or choose a longer period.'
        : 'Choose a longer period, or send a request with one of your keys: it is counted here as soon as it has ended. Requests that were refused before they reached a provider are only in the request log.'}
    </EmptyState>
  )
}

function callsOf(view: View) {
  const { ranking, group } = view
  const queries =
    group === 'none'
      ? [figuresQuery(view), totalSeriesQuery(view)]
      : [
          figuresQuery(view),
          groupSeriesQuery(view, { ranking, dimension: group }),
          groupsQuery(view, { ranking, dimension: group }),
        ]
  return queries.map(callOf)
}
