import { Button, Kbd } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { Spotlight, spotlight } from '@mantine/spotlight'
import { useState } from 'react'
import { SearchIcon } from '../components/icons.tsx'
import { useSearchGroups } from './search-objects.ts'

const debounceMs = 200
const shortcut = /Mac|iPhone|iPad/.test(navigator.platform) ? '⌘K' : 'Ctrl K'
const placeholder = 'Search screens, keys, members and models'

/** Finds screens and objects by name; opened with Ctrl or ⌘ and K. */
export function Search() {
  const [text, setText] = useState('')
  const [settledText] = useDebouncedValue(text, debounceMs)
  const groups = useSearchGroups(settledText)
  return (
    <>
      <Button
        variant="default"
        size="xs"
        leftSection={<SearchIcon />}
        rightSection={
          <Kbd size="xs" visibleFrom="sm" aria-hidden>
            {shortcut}
          </Kbd>
        }
        onClick={spotlight.open}
      >
        Search
      </Button>
      <Spotlight
        actions={groups}
        query={text}
        onQueryChange={setText}
        shortcut={['mod + K', '/']}
        nothingFound="Nothing found. Search by any part of a name, or by the start of a key’s hash."
        searchProps={{ placeholder, 'aria-label': placeholder }}
        attributes={{ content: { 'aria-label': 'Search' } }}
        highlightQuery
        scrollable
        maxHeight={400}
        limit={30}
      />
    </>
  )
}
