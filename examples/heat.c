/* Heat flows through a plate: the demonstration of ./build.sh run.
 *
 * The plate is an n x n grid. Its border is cold, a letter W in its middle is
 * hot, and in every step each other cell moves towards the mean of its four
 * neighbours. The processes form a grid themselves and own one block each:
 *
 *        +-------+-------+        what a process stores: its block and a
 *        | rank0 | rank1 |        frame of one cell, the halo, which holds
 *        +-------+-------+        the neighbours' edges of the last step
 *        | rank2 | rank3 |
 *        +-------+-------+
 *
 * One step:
 *   1  start sending my edges and receiving the halo
 *   2  meanwhile, compute the cells that need no halo
 *   3  wait, then compute the edge cells
 *
 * At the end rank 0 collects the plate, computes it once more alone, compares
 * bit by bit, and writes a picture.
 *
 *   mpicc heat.c -o heat -lm && mpirun -n 4 ./heat
 *   heat [-n cells] [-s steps] [-o file.ppm]
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <errno.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UP, DOWN, LEFT, RIGHT, SIDES };
enum { REPORTS = 10 /* progress lines */ };

static const double HOT = 100.0, RATE = 0.2;

struct options {
    int n, steps;
    const char *picture;
};

/* A block is a rectangle of the plate with its halo. cell_at(b, plane, 0, 0) is
 * the first cell of the block itself; rows and columns -1 and `rows`, `cols`
 * are the halo. */
struct block {
    int first_row, first_col; /* in the plate */
    int rows, cols;
    double *now, *next;
    unsigned char *source; /* 1: a cell of constant heat */
};

static double *cell_at(const struct block *b, double *plane, int row, int col)
{
    return plane + (size_t)(row + 1) * (size_t)(b->cols + 2) + col + 1;
}

/* ---- the physics --------------------------------------------------------- */

/* Returns whether this point of the unit square is inside the letter W. */
static int in_letter(double y, double x)
{
    if (y < 0.25 || y > 0.75 || x < 0.2 || x > 0.8)
        return 0;
    double stroke = (y - 0.25) / 0.5 * 0.15; /* how far strokes have leaned */
    double from_middle = fabs(x - 0.5);
    return fabs(from_middle - (0.3 - stroke)) < 0.035 ||
           fabs(from_middle - stroke) < 0.035;
}

/* Compute rows [r0, r1) x columns [c0, c1); returns the largest change. */
static double compute_cells(struct block *b, int r0, int r1, int c0, int c1)
{
    double largest = 0;

    for (int r = r0; r < r1; r++)
        for (int c = c0; c < c1; c++) {
            double here = *cell_at(b, b->now, r, c);
            double flow = *cell_at(b, b->now, r - 1, c) +
                          *cell_at(b, b->now, r + 1, c) +
                          *cell_at(b, b->now, r, c - 1) +
                          *cell_at(b, b->now, r, c + 1) - 4 * here;
            double change = b->source[r * b->cols + c] ? 0 : RATE * flow;
            *cell_at(b, b->next, r, c) = here + change;
            if (fabs(change) > largest)
                largest = fabs(change);
        }
    return largest;
}

static void swap_planes(struct block *b)
{
    double *old = b->now;
    b->now = b->next;
    b->next = old;
}

/* ---- blocks -------------------------------------------------------------- */

/* Cut n cells into `parts`; part i starts here. */
static int part_start(int n, int parts, int i)
{
    return (int)((long long)n * i / parts);
}

static void *check_memory(void *memory)
{
    if (!memory) {
        fprintf(stderr, "heat: out of memory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memory;
}

static double *new_plane(const struct block *b)
{
    return check_memory(calloc((size_t)(b->rows + 2) * (size_t)(b->cols + 2),
                       sizeof(double)));
}

static void block_init(struct block *b, int n, const int grid[2],
                       const int at[2])
{
    b->first_row = part_start(n, grid[0], at[0]);
    b->first_col = part_start(n, grid[1], at[1]);
    b->rows = part_start(n, grid[0], at[0] + 1) - b->first_row;
    b->cols = part_start(n, grid[1], at[1] + 1) - b->first_col;
    b->now = new_plane(b);
    b->next = new_plane(b);
    b->source = check_memory(calloc((size_t)b->rows, (size_t)b->cols));
    for (int r = 0; r < b->rows; r++)
        for (int c = 0; c < b->cols; c++)
            if (in_letter((b->first_row + r + 0.5) / n,
                          (b->first_col + c + 0.5) / n)) {
                b->source[r * b->cols + c] = 1;
                *cell_at(b, b->now, r, c) = HOT;
            }
}

static void block_free(struct block *b)
{
    free(b->now);
    free(b->next);
    free(b->source);
}

/* ---- the parallel part --------------------------------------------------- */

/* Choose a grid as square as possible: 6 processes are 2 x 3. */
static void process_grid(int size, int grid[2])
{
    grid[0] = 1;
    for (int i = 1; i * i <= size; i++)
        if (size % i == 0)
            grid[0] = i;
    grid[1] = size / grid[0];
}

/* Find the neighbours. Beyond the plate they are MPI_PROC_NULL, to which
 * messages vanish: the border needs no special case below. */
static void find_neighbours(int rank, const int grid[2], int neighbour[SIDES])
{
    int row = rank / grid[1], col = rank % grid[1];

    neighbour[UP] = row > 0 ? rank - grid[1] : MPI_PROC_NULL;
    neighbour[DOWN] = row < grid[0] - 1 ? rank + grid[1] : MPI_PROC_NULL;
    neighbour[LEFT] = col > 0 ? rank - 1 : MPI_PROC_NULL;
    neighbour[RIGHT] = col < grid[1] - 1 ? rank + 1 : MPI_PROC_NULL;
}

/* Start the exchange of edges. column: the type of cells that stand one row
 * apart. The tag of a message is the side at which it arrives. */
static void exchange_start(struct block *b, const int neighbour[SIDES],
                           MPI_Datatype column, MPI_Request q[2 * SIDES])
{
    double *p = b->now;
    int last_row = b->rows - 1, last_col = b->cols - 1;

    MPI_Irecv(cell_at(b, p, -1, 0), b->cols, MPI_DOUBLE, neighbour[UP], UP,
              MPI_COMM_WORLD, &q[0]);
    MPI_Irecv(cell_at(b, p, b->rows, 0), b->cols, MPI_DOUBLE, neighbour[DOWN],
              DOWN, MPI_COMM_WORLD, &q[1]);
    MPI_Irecv(cell_at(b, p, 0, -1), 1, column, neighbour[LEFT], LEFT,
              MPI_COMM_WORLD, &q[2]);
    MPI_Irecv(cell_at(b, p, 0, b->cols), 1, column, neighbour[RIGHT], RIGHT,
              MPI_COMM_WORLD, &q[3]);

    MPI_Isend(cell_at(b, p, 0, 0), b->cols, MPI_DOUBLE, neighbour[UP], DOWN,
              MPI_COMM_WORLD, &q[4]);
    MPI_Isend(cell_at(b, p, last_row, 0), b->cols, MPI_DOUBLE, neighbour[DOWN],
              UP, MPI_COMM_WORLD, &q[5]);
    MPI_Isend(cell_at(b, p, 0, 0), 1, column, neighbour[LEFT], RIGHT,
              MPI_COMM_WORLD, &q[6]);
    MPI_Isend(cell_at(b, p, 0, last_col), 1, column, neighbour[RIGHT], LEFT,
              MPI_COMM_WORLD, &q[7]);
}

static double take_step(struct block *b, const int neighbour[SIDES],
                   MPI_Datatype column)
{
    MPI_Request q[2 * SIDES];
    int rows = b->rows, cols = b->cols;
    double change;

    exchange_start(b, neighbour, column, q);
    change = compute_cells(b, 1, rows - 1, 1, cols - 1);
    MPI_Waitall(2 * SIDES, q, MPI_STATUSES_IGNORE);
    change = fmax(change, compute_cells(b, 0, 1, 0, cols));
    change = fmax(change, compute_cells(b, rows - 1, rows, 0, cols));
    change = fmax(change, compute_cells(b, 1, rows - 1, 0, 1));
    change = fmax(change, compute_cells(b, 1, rows - 1, cols - 1, cols));
    swap_planes(b);
    return change;
}

static void print_progress(int done, int steps, double change)
{
    printf("heat: %3d %%  step %*d of %d  largest change %.6f\n",
           100 * done / steps, 6, done, steps, change);
    fflush(stdout);
}

static void run_steps(struct block *b, const struct options *o,
                      const int grid[2], int rank)
{
    int neighbour[SIDES], every = o->steps / REPORTS + (o->steps < REPORTS);
    MPI_Datatype column;

    find_neighbours(rank, grid, neighbour);
    MPI_Type_vector(b->rows, 1, b->cols + 2, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    for (int i = 1; i <= o->steps; i++) {
        double mine = take_step(b, neighbour, column), all;
        if (i % every && i != o->steps)
            continue;
        MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        if (rank == 0)
            print_progress(i, o->steps, all);
    }
    MPI_Type_free(&column);
}

/* ---- the result ---------------------------------------------------------- */

/* Copy a plate from the order in which processes send it, block after block, to
 * where it belongs. */
static void arrange_blocks(const double *blocks, double *plate, int n,
                    const int grid[2])
{
    for (int i = 0; i < grid[0] * grid[1]; i++) {
        int row = i / grid[1], col = i % grid[1];
        int c0 = part_start(n, grid[1], col);
        int cols = part_start(n, grid[1], col + 1) - c0;
        int end = part_start(n, grid[0], row + 1);
        for (int r = part_start(n, grid[0], row); r < end; r++) {
            memcpy(plate + (size_t)r * (size_t)n + c0, blocks,
                   (size_t)cols * sizeof *plate);
            blocks += cols;
        }
    }
}

/* Returns the n x n cells of the plate at rank 0, elsewhere NULL. A type that
 * leaves out the halo sends the block from where it is. */
static double *collect_plate(struct block *b, int n, const int grid[2],
                             int rank)
{
    int size = grid[0] * grid[1], cells = b->rows * b->cols, sum = 0;
    size_t bytes = (size_t)n * (size_t)n * sizeof(double);
    int *counts = check_memory(malloc((size_t)size * sizeof *counts));
    int *displs = check_memory(malloc((size_t)size * sizeof *displs));
    double *blocks = rank == 0 ? check_memory(malloc(bytes)) : NULL;
    double *plate = rank == 0 ? check_memory(malloc(bytes)) : NULL;
    MPI_Datatype inside;

    MPI_Gather(&cells, 1, MPI_INT, counts, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < size; sum += counts[i++])
        displs[i] = sum;
    MPI_Type_vector(b->rows, b->cols, b->cols + 2, MPI_DOUBLE, &inside);
    MPI_Type_commit(&inside);
    MPI_Gatherv(cell_at(b, b->now, 0, 0), 1, inside, blocks, counts, displs,
                MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Type_free(&inside);
    if (rank == 0)
        arrange_blocks(blocks, plate, n, grid);
    free(blocks);
    free(counts);
    free(displs);
    return plate;
}

/* Compute the same plate in one process; returns how many rows differ. */
static long count_wrong_rows(const double *plate, const struct options *o)
{
    struct block b;
    long wrong = 0;

    block_init(&b, o->n, (int[2]){1, 1}, (int[2]){0, 0});
    for (int i = 0; i < o->steps; i++) {
        compute_cells(&b, 0, o->n, 0, o->n);
        swap_planes(&b);
    }
    for (int r = 0; r < o->n; r++)
        wrong += memcmp(plate + (size_t)r * (size_t)o->n,
                        cell_at(&b, b.now, r, 0),
                        (size_t)o->n * sizeof *plate) != 0;
    block_free(&b);
    return wrong;
}

/* Choose the colour of glowing iron: black, red, yellow, white. */
static void heat_to_rgb(double heat, unsigned char rgb[3])
{
    double t = 3 * sqrt(heat / HOT);

    for (int i = 0; i < 3; i++)
        rgb[i] = (unsigned char)(255 * fmin(1, fmax(0, t - i)) + 0.5);
}

static void write_picture(const double *plate, int n, const char *path)
{
    FILE *f = fopen(path, "wb");
    unsigned char rgb[3];

    if (!f) {
        printf("heat: no picture: %s: %s (-o names another place)\n", path,
               strerror(errno));
        return;
    }
    fprintf(f, "P6\n%d %d\n255\n", n, n);
    for (size_t i = 0; i < (size_t)n * (size_t)n; i++) {
        heat_to_rgb(plate[i], rgb);
        fwrite(rgb, 1, sizeof rgb, f);
    }
    if (fclose(f) != 0)
        printf("heat: the picture is incomplete: %s: %s\n", path,
               strerror(errno));
    else
        printf("heat: wrote %s\n", path);
}

/* ---- main ---------------------------------------------------------------- */

static int print_usage(int rank, const int grid[2])
{
    if (rank == 0)
        fprintf(stderr, "usage: heat [-n cells] [-s steps] [-o file.ppm]\n"
                        "  -n  cells along each side of the plate: 480, at "
                        "least %d for so many processes\n"
                        "  -s  steps: 1000\n"
                        "  -o  picture: heat.ppm\n", 2 * grid[1]);
    MPI_Finalize();
    return 2;
}

static int parse_options(int argc, char **argv, struct options *o)
{
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc || argv[i][0] != '-' || strlen(argv[i]) != 2)
            return 0;
        switch (argv[i][1]) {
        case 'n':
            o->n = atoi(argv[i + 1]);
            break;
        case 's':
            o->steps = atoi(argv[i + 1]);
            break;
        case 'o':
            o->picture = argv[i + 1];
            break;
        default:
            return 0;
        }
    }
    return o->n > 0 && o->n <= 20000 && o->steps > 0;
}

/* Check the plate at rank 0, at the end; returns how much is wrong. */
static long check_plate(const double *plate, const struct options *o)
{
    long wrong = count_wrong_rows(plate, o);

    if (wrong)
        printf("heat: WRONG: %ld rows differ from the serial computation\n",
               wrong);
    else
        printf("heat: equal to the serial computation, bit by bit\n");
    write_picture(plate, o->n, o->picture);
    return wrong;
}

static long simulate_plate(const struct options *o, const int grid[2], int rank)
{
    struct block b;
    double start, *plate;
    long wrong = 0;

    block_init(&b, o->n, grid, (int[2]){rank / grid[1], rank % grid[1]});
    start = MPI_Wtime();
    run_steps(&b, o, grid, rank);
    plate = collect_plate(&b, o->n, grid, rank);
    if (rank == 0) {
        printf("heat: %d steps in %.2f s\n", o->steps, MPI_Wtime() - start);
        wrong = check_plate(plate, o);
    }
    free(plate);
    block_free(&b);
    return wrong;
}

int main(int argc, char **argv)
{
    struct options o = {480, 1000, "heat.ppm"};
    int rank, size, grid[2];
    long wrong;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    process_grid(size, grid);
    if (!parse_options(argc, argv, &o) || o.n < 2 * grid[1])
        return print_usage(rank, grid);
    if (rank == 0)
        printf("heat: %d x %d cells on %d x %d processes\n", o.n, o.n, grid[0],
               grid[1]);
    wrong = simulate_plate(&o, grid, rank);
    MPI_Finalize();
    return wrong != 0;
}
