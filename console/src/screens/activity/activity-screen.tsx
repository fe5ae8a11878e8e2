import { Button, Group, Paper, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import { memo } from 'react'
import { callOf } from '../../api/call.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { Page } from '../../components/page.tsx'
import { SavedViews } from '../../components/saved-views.tsx'
import { ActiveFilters, Controls } from './controls.tsx'
import { dimensionOf, filterNames, nounOf } from './dimensions.ts'
import { ExportMenu } from './export-menu.tsx'
import { Figures } from './figures.tsx'
import { GroupTable } from './group-table.tsx'
import { figuresQuery, groupSeriesQuery, groupsQuery, totalSeriesQuery } from './queries.ts'
import { RequestsLink } from './requests-link.tsx'
import { Timeline, useTimeline } from './timeline.tsx'
import { useView, type View } from './view.ts'

/** Each query that arrives renders the screen again, but most of it depends on the view alone. */
const [StableControls, StableFigures, StableGroupTable] = [memo(Controls), memo(Figures), memo(GroupTable)]

export const screen = createLazyRoute('/activity')({ component: ActivityScreen })

function ActivityScreen() {
  const view = useView()
  const timeline = useTimeline(view)
  const figures = useQuery(figuresQuery(view))
  const isEmpty = figures.data?.data.data.every(({ request_count }) => request_count === 0) ?? false
  return (
    <Page
      title="Activity"
      scope="listed"
      description="What was spent, on what, and how well it worked. Counts every request that reached a provider."
      calls={callsOf(view)}
      actions={
        <>
          <SavedViews screen="activity" />
          <Button size="xs" variant="default" onClick={view.refresh}>
            Refresh
          </Button>
          <ExportMenu view={view} timeline={timeline.data} />
        </>
      }
    >
      <StableControls view={view} />
      <ActiveFilters view={view} />
      <StableFigures view={view} />
      {isEmpty && !view.previous ? <NoRequests view={view} /> : <Details view={view} timeline={timeline} />}
    </Page>
  )
}

function Details({ view, timeline }: { view: View; timeline: ReturnType<typeof useTimeline> }) {
  const { metric, group } = view
  return (
    <>
      <Paper withBorder p="md">
        <Stack gap="xs">
          <Group justify="space-between">
            <Title order={2} size="h4">
              {metric.label} over time
            </Title>
            <RequestsLink view={view} />
          </Group>
          <Text size="xs" c="dimmed">
            {metric.meaning}
          </Text>
          <Timeline view={view} {...timeline} />
        </Stack>
      </Paper>
      {group !== 'none' && (
        <Stack gap="xs">
          <Title order={2} size="h4">
            {metric.label} by {nounOf(dimensionOf(group))}
          </Title>
          <StableGroupTable view={view} dimension={group} />
        </Stack>
      )}
    </>
  )
}

function NoRequests({ view }: { view: View }) {
  const isFiltered = filterNames.some((name) => view.filters[name] !== undefined)
  return (
    <EmptyState title="No requests in this period">
      {isFiltered
        ? 'Remove a filter, or choose a longer period.'
        : 'Choose a longer period, or send a request with one of your keys: it is counted here as soon as it has ended. Requests that were refused before they reached a provider are only in the request log.'}
    </EmptyState>
  )
}

function callsOf(view: View) {
  const { metric, group } = view
  const queries =
    group === 'none'
      ? [figuresQuery(view), totalSeriesQuery(view, metric)]
      : [figuresQuery(view), groupSeriesQuery(view, metric, group), groupsQuery(view, metric, group)]
  return queries.map(callOf)
}
