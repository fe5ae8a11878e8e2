import { Alert, Button, SimpleGrid, Stack, Text } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { client, type Schemas } from '../../api/client.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { Fact } from '../../components/fact.tsx'
import { WarningIcon } from '../../components/icons.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { TestOutcome } from '../../components/test-dialog.tsx'
import { Time } from '../../components/time.tsx'
import { formatCount, formatDuration } from '../../format/number.ts'
import { findRemedy } from './delivery-state.ts'
import type { Destination } from './kinds.ts'
import { statusOptions, useDestinationRefresh } from './queries.ts'
import { StateBadge } from './state-badge.tsx'

type Status = Schemas['ObservabilityDeliveryStatus']

interface DeliveryProps {
  destination: Destination
  mayChange: boolean
}

/** Shows the state of the delivery, and the actions on it. */
export function Delivery({ destination, mayChange }: DeliveryProps) {
  const query = useQuery(statusOptions(destination.id))
  const status = query.data?.data
  return (
    <Panel
      title="Delivery"
      description="Requests are reported after they end; a slow destination does not delay them."
      actions={mayChange && status && <PauseButton id={destination.id} status={status} />}
    >
      <QueryView query={query}>
        {({ data }) => (
          <Stack gap="sm">
            <Figures status={data} />
            <Problems destination={destination} status={data} />
          </Stack>
        )}
      </QueryView>
      {mayChange && <TestEvent id={destination.id} />}
    </Panel>
  )
}

function PauseButton({ id, status }: { id: string; status: Status }) {
  const refresh = useDestinationRefresh()
  const params = { path: { id } }
  const resume = async () => {
    await client.POST('/observability/destinations/{id}/resume', { params })
    await refresh()
  }
  const pause = async () => {
    await client.POST('/observability/destinations/{id}/pause', { params })
    await refresh()
  }
  if (status.state === 'disabled') return null
  if (status.state === 'paused') return <ActionButton onAction={resume}>Resume</ActionButton>
  return (
    <>
      {status.state === 'failing' && <ActionButton onAction={resume}>Retry now</ActionButton>}
      <ActionButton onAction={pause}>Pause</ActionButton>
    </>
  )
}

function Figures({ status }: { status: Status }) {
  const { queued, oldest_queued_seconds: oldest } = status
  return (
    <SimpleGrid cols={{ base: 2, sm: 3, md: 6 }}>
      <Fact label="State">
        <StateBadge state={status.state} />
      </Fact>
      <Fact label="Waiting">
        {formatCount(queued)}
        {oldest !== null && `, the oldest for ${formatDuration(oldest * 1000)}`}
      </Fact>
      <Fact label="Delivered">{formatCount(status.delivered)}</Fact>
      <Fact label="Failed">{formatCount(status.failed)}</Fact>
      <Fact label="Dropped">{formatCount(status.dropped)}</Fact>
      <Fact label="Last delivery">
        {status.last_success_at ? <Time iso={status.last_success_at} style="age" /> : 'never'}
      </Fact>
    </SimpleGrid>
  )
}

function Problems({ destination, status }: { destination: Destination; status: Status }) {
  const { disabled_reason, last_error, last_error_at, retry_at, queued, state } = status
  return (
    <>
      {disabled_reason !== null && (
        <Alert color="gray" icon={<WarningIcon />} title="Nothing is queued">
          {disabled_reason}
        </Alert>
      )}
      {destination.secrets_held_back && (
        <Alert color="orange" icon={<WarningIcon />} title="Enter the secrets again">
          The address was changed to another server. The stored secrets are not sent there until you enter all
          of them again below, header values included.
        </Alert>
      )}
      {last_error !== null && (
        <Alert
          color={state === 'failing' ? 'red' : 'gray'}
          icon={<WarningIcon />}
          title={state === 'failing' ? 'The last request failed' : 'The last error'}
        >
          <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
            {last_error}
          </Text>
          {findRemedy(last_error) !== null && <Text size="sm">{findRemedy(last_error)}</Text>}
          <Text size="xs" component="div" pt={4}>
            <Time iso={last_error_at} style="age" />
            {state === 'failing' && queued > 0 && retry_at !== null && (
              <>
                ; the next attempt is due <Time iso={retry_at} style="age" />
              </>
            )}
          </Text>
        </Alert>
      )}
    </>
  )
}

function TestEvent({ id }: { id: string }) {
  const test = useMutation({
    mutationFn: () => client.POST('/observability/destinations/{id}/test', { params: { path: { id } } }),
  })
  const result = test.data?.data?.data
  return (
    <Stack gap="xs" align="flex-start">
      <Button size="xs" variant="default" loading={test.isPending} onClick={() => test.mutate()}>
        Send a test event
      </Button>
      {test.error !== null && <ErrorNotice error={test.error} />}
      {result && (
        <TestOutcome isAccepted={result.delivered}>
          {result.error ?? 'The destination accepted the address and the credentials.'}
          {result.error !== null && findRemedy(result.error) !== null && (
            <Text size="sm">{findRemedy(result.error)}</Text>
          )}
          <Text size="xs" pt={4}>
            {result.status === null ? 'No answer' : `Status ${result.status}`} after{' '}
            {formatDuration(result.duration_ms)}
          </Text>
        </TestOutcome>
      )}
    </Stack>
  )
}
