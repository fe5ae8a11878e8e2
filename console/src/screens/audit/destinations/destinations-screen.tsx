import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute, Link } from '@tanstack/react-router'
import { callOf } from '../../../api/call.ts'
import { mayDoEverywhere, useSession } from '../../../app/session.tsx'
import { DialogButton } from '../../../components/dialog-button.tsx'
import { EmptyState } from '../../../components/empty-state.tsx'
import { ItemList } from '../../../components/item-list.tsx'
import { Page } from '../../../components/page.tsx'
import { QueryView } from '../../../components/query-view.tsx'
import { CreateDestination } from './create-destination.tsx'
import { DestinationItem } from './destination-item.tsx'
import { destinationsOptions } from './queries.ts'

export const screen = createLazyRoute('/audit/destinations')({ component: AuditDestinationsScreen })

const refreshMs = 5_000

function AuditDestinationsScreen() {
  const mayChange = mayDoEverywhere(useSession(), 'audit:write')
  const query = useQuery({ ...destinationsOptions, refetchInterval: refreshMs })
  return (
    <Page
      title="Destinations of the audit log"
      docs="audit#send-to-a-siem"
      description="Webhooks and syslog servers, such as a SIEM. They receive every entry at least once, as an OCSF event."
      calls={[callOf(destinationsOptions)]}
      actions={
        <>
          <Button component={Link} to="/audit" variant="default" size="xs">
            Audit log
          </Button>
          {mayChange && (
            <DialogButton label="Add a destination">
              {(close) => <CreateDestination onClose={close} />}
            </DialogButton>
          )}
        </>
      }
    >
      <QueryView query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <EmptyState title="No destinations yet">
              Add one to keep a copy of the audit log in another system. Entries are delivered in order;
              failed deliveries are retried.
            </EmptyState>
          ) : (
            <ItemList>
              {data.map((destination) => (
                <DestinationItem key={destination.id} destination={destination} mayChange={mayChange} />
              ))}
            </ItemList>
          )
        }
      </QueryView>
    </Page>
  )
}
