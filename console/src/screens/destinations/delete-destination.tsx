import { Button } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { client } from '../../api/client.ts'
import { ConfirmByName } from '../../components/confirm-by-name.tsx'
import { Panel } from '../../components/panel.tsx'
import { type Destination, kindOf } from './kinds.ts'
import { useRefresh } from './queries.ts'

export function DeleteDestination({ destination: { id, name, type } }: { destination: Destination }) {
  const refresh = useRefresh()
  const navigate = useNavigate()
  const [isAsking, setAsking] = useState(false)
  const remove = async () => {
    await client.DELETE('/observability/destinations/{id}', { params: { path: { id } } })
    await navigate({ to: '/destinations' })
    await refresh()
  }
  return (
    <Panel
      title="Delete the destination"
      description="Its secrets are erased, and the events that wait for it are dropped. What it has received stays there."
      actions={
        <Button size="xs" color="red" variant="outline" onClick={() => setAsking(true)}>
          Delete
        </Button>
      }
    >
      {isAsking && (
        <ConfirmByName
          title="Delete a destination"
          name={name ?? kindOf(type).label}
          action="Delete"
          onConfirm={remove}
          onClose={() => setAsking(false)}
        >
          This cannot be undone. To stop it for a while, pause it instead.
        </ConfirmByName>
      )}
    </Panel>
  )
}
