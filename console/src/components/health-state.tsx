import { Badge, Stack, Text } from '@mantine/core'
import type { Schemas } from '../api/client.ts'
import { Time } from './time.tsx'

type State = Schemas['ProviderHealth']['state'] | Schemas['EndpointHealth']['state']
type Problem = Schemas['EndpointProblem']

const looks: Record<State, [label: string, color: string]> = {
  healthy: ['healthy', 'teal'],
  unused: ['no traffic yet', 'gray'],
  degraded: ['degraded', 'orange'],
  unavailable: ['left out', 'red'],
  failing: ['failing', 'orange'],
  ejected: ['left out', 'red'],
  cooling_down: ['cooling down', 'red'],
  no_credential: ['no credential', 'gray'],
}

export function HealthBadge({ state }: { state: State }) {
  const [label, color] = looks[state]
  return (
    <Badge variant="dot" color={color} tt="none" miw="max-content">
      {label}
    </Badge>
  )
}

interface ReasonProps extends Pick<Problem, 'failing_since' | 'unavailable_until' | 'last_error'> {
  state: State
}

/** Shows the reason an endpoint is excluded, its start and end; or the last error. */
export function HealthReason({ state, failing_since, unavailable_until, last_error }: ReasonProps) {
  if (!last_error && !unavailable_until) return null
  return (
    <Text size="xs" c="dimmed" component="div">
      {explanations[state]} {last_error && <LastError error={last_error} />}
      {failing_since && (
        <>
          {' '}
          Since <Time iso={failing_since} style="age" />.
        </>
      )}
      {unavailable_until && (
        <>
          {' '}
          Until <Time iso={unavailable_until} style="age" />.
        </>
      )}
    </Text>
  )
}

const explanations: Partial<Record<State, string>> = {
  cooling_down: 'The provider requested a pause.',
  ejected: 'It failed several times in a row. One request will test it again.',
  failing: 'Requests failed in the last 30 seconds, so it is tried last.',
}

export function LastError({ error }: { error: NonNullable<Problem['last_error']> }) {
  return (
    <>
      Last error{error.status === null ? '' : ` (${error.status})`} <Time iso={error.at} style="age" />:{' '}
      {error.message}
    </>
  )
}

/** The endpoints that are failing or left out, each with the reason. */
export function ProblemList({ problems, count }: { problems: Problem[]; count: number }) {
  return (
    <Stack gap="xs" component="ul" m={0} p={0} style={{ listStyle: 'none' }}>
      {problems.map((problem) => (
        <li key={`${problem.model_id} ${problem.tag}`}>
          <Text size="sm" component="span" style={{ overflowWrap: 'anywhere' }}>
            {problem.model_id} at {problem.tag}
          </Text>{' '}
          <HealthBadge state={problem.state} />
          <HealthReason {...problem} />
        </li>
      ))}
      {count > problems.length && <li>{count - problems.length} more</li>}
    </Stack>
  )
}
