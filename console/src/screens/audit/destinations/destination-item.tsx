import { Badge, Group, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { client } from '../../../api/client.ts'
import { useRefresh } from '../../../api/use-refresh.ts'
import { ConfirmByName } from '../../../components/confirm-by-name.tsx'
import { DialogButton } from '../../../components/dialog-button.tsx'
import { Item } from '../../../components/item-list.tsx'
import { Time } from '../../../components/time.tsx'
import { formatCount } from '../../../format/number.ts'
import { DestinationTest } from './destination-test.tsx'
import { EditDestination } from './edit-destination.tsx'
import type { AuditDestination } from './queries.ts'
import { describeAddress, describeSelection, stateOf } from './texts.ts'

interface DestinationItemProps {
  destination: AuditDestination
  mayChange: boolean
}

export function DestinationItem({ destination, mayChange }: DestinationItemProps) {
  const { label, color } = stateOf(destination)
  return (
    <Item record={destination} actions={mayChange && <Actions destination={destination} />}>
      <Group gap="xs">
        <Text size="sm" fw={600}>
          {destination.name}
        </Text>
        <Badge color={color} variant="light" tt="none">
          {label}
        </Badge>
      </Group>
      <Text size="sm">{describeAddress(destination)}</Text>
      <Text size="sm" c="dimmed">
        {describeSelection(destination)}
      </Text>
      <Delivery destination={destination} />
    </Item>
  )
}

function Delivery({ destination: { status } }: { destination: AuditDestination }) {
  const { delivered, pending, missed, last_success_at, last_error, last_error_at, failures, retry_at } =
    status
  return (
    <>
      <Small>
        {formatCount(delivered)} delivered, {formatCount(pending)} waiting
        {missed > 0 && `, ${formatCount(missed)} deleted by retention before they were sent`}
        {last_success_at !== null && (
          <>
            {'; last delivery '}
            <Time iso={last_success_at} style="age" />
          </>
        )}
      </Small>
      {last_error !== null && (
        <Small>
          {failures > 0 ? 'Last error: ' : 'Earlier error: '}
          {last_error} (<Time iso={last_error_at} style="age" />)
          {failures > 0 && retry_at !== null && (
            <>
              {'; the next attempt is due '}
              <Time iso={retry_at} style="age" />
            </>
          )}
        </Small>
      )}
    </>
  )
}

function Small({ children }: { children: ReactNode }) {
  return (
    <Text size="sm" c="dimmed" component="div">
      {children}
    </Text>
  )
}

function Actions({ destination }: { destination: AuditDestination }) {
  const refresh = useRefresh()
  const { id, name } = destination
  const remove = async () => {
    await client.DELETE('/audit/destinations/{id}', { params: { path: { id } } })
    await refresh('/audit/destinations')
  }
  return (
    <Group gap="xs">
      <DialogButton label="Edit" description={`Edit ${name}`} variant="default">
        {(close) => <EditDestination destination={destination} onClose={close} />}
      </DialogButton>
      <DialogButton label="Test" description={`Test ${name}`} variant="default">
        {(close) => <DestinationTest destination={destination} onClose={close} />}
      </DialogButton>
      <DialogButton label="Delete" description={`Delete ${name}`} color="red" variant="outline">
        {(close) => (
          <ConfirmByName
            title="Delete a destination"
            name={name}
            action="Delete"
            onConfirm={remove}
            onClose={close}
          >
            Pending entries are not sent. They stay in the audit log. To stop it temporarily, disable it
            instead.
          </ConfirmByName>
        )}
      </DialogButton>
    </Group>
  )
}
