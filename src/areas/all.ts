import type { Operation, Page } from '../operation.ts'
import { keyOperations } from './keys/operations.ts'

/** Every operation the API has. An area is a folder here and one line in this list. */
export const operations: Operation[] = [...keyOperations]

export const pages: Page[] = []
