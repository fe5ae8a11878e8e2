import { Group } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import { callOf } from '../../api/call.ts'
import { mayDoIn, useSession } from '../../app/session.tsx'
import { Id } from '../../components/copy.tsx'
import { Page } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { DeleteDestination } from './delete-destination.tsx'
import { Delivery } from './delivery.tsx'
import { EditDestination } from './edit-destination.tsx'
import { Failures, failuresOptions } from './failures.tsx'
import { type Destination, kindOf, nameOf } from './kinds.ts'
import { destinationOptions, statusOptions } from './queries.ts'

export const screen = createLazyRoute('/observability/$id')({ component: DestinationScreen })

function DestinationScreen() {
  const { id } = screen.useParams()
  const options = destinationOptions(id)
  const query = useQuery(options)
  const destination = query.data?.data
  return (
    <Page
      title={destination ? nameOf(destination) : 'Destination'}
      docs="observability"
      description={
        <Group gap="sm" component="span">
          <TextLink to="/observability">All destinations</TextLink>
          {destination && kindOf(destination.type).label}
        </Group>
      }
      calls={[callOf(options), callOf(statusOptions(id)), callOf(failuresOptions(id, 0))]}
    >
      <QueryView query={query}>{({ data }) => <Details destination={data} />}</QueryView>
    </Page>
  )
}

function Details({ destination }: { destination: Destination }) {
  const mayChange = mayDoIn(useSession(), destination.workspace_id, 'destinations:write')
  return (
    <>
      <Group gap="xs">
        <Id value={destination.id} />
      </Group>
      <Delivery destination={destination} mayChange={mayChange} />
      <Failures destination={destination} mayChange={mayChange} />
      <EditDestination key={destination.updated_at} destination={destination} mayChange={mayChange} />
      {mayChange && <DeleteDestination destination={destination} />}
    </>
  )
}
