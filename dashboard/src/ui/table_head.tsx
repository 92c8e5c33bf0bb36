// The head of a table. Each column is given as its name or as a complete cell; false leaves the column out.
import {isValidElement, type ComponentChild} from 'preact';

export function TableHead({columns}: {columns: readonly ComponentChild[]}) {
  return (
    <thead>
      <tr>
        {columns.map((column, i) =>
          column === false || isValidElement(column) ? (
            column
          ) : (
            <th key={i} scope="col">
              {column}
            </th>
          ),
        )}
      </tr>
    </thead>
  );
}
